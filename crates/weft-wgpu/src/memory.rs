//! How much memory an adapter has: asked of Vulkan and Metal, since wgpu does not report it.

/// Bytes of an adapter's largest heap of its own; if it shares all its memory, of the largest heap.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn bytes(adapter: &wgpu::Adapter) -> Option<u64> {
    // SAFETY: this only queries the adapter, and what is borrowed does not outlive this function.
    let vulkan = unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }?;
    let instance = vulkan.shared_instance().raw_instance();
    // SAFETY: the physical device belongs to this instance, which lives as long as the adapter.
    let memory = unsafe { instance.get_physical_device_memory_properties(vulkan.raw_physical_device()) };
    let heaps = memory.memory_heaps_as_slice().iter();
    // Bit 0: memory that is local to the device (VK_MEMORY_HEAP_DEVICE_LOCAL_BIT).
    heaps.map(|heap| (heap.flags.as_raw() & 1, heap.size)).max().map(|(_, size)| size)
}

/// Bytes that Metal recommends to use at most, about three quarters of what GPU and processor share. Beyond them the system
/// swaps, or ends command buffers.
#[cfg(target_vendor = "apple")]
pub(crate) fn bytes(adapter: &wgpu::Adapter) -> Option<u64> {
    use objc2_metal::MTLDevice as _;

    // SAFETY: this only queries the adapter, and what is borrowed does not outlive this function.
    let metal = unsafe { adapter.as_hal::<wgpu::hal::api::Metal>() }?;
    Some(metal.raw_device().recommendedMaxWorkingSetSize())
}
