//! Which of an adapter's features are used.

use wgpu::{Adapter, AdapterInfo, CooperativeMatrixProperties, CooperativeScalarType, Features};

/// The features that are used where an adapter has them.
const WANTED: Features = Features::SUBGROUP
    .union(Features::SHADER_F16)
    .union(Features::TIMESTAMP_QUERY)
    .union(Features::TIMESTAMP_QUERY_INSIDE_PASSES)
    .union(Features::PIPELINE_CACHE)
    .union(Features::MEMORY_DECORATION_COHERENT);

/// The features that cooperative matrices need: halves in workgroup memory, and subgroups whose lanes can synchronise.
pub(crate) const COOPERATIVE: Features = Features::EXPERIMENTAL_COOPERATIVE_MATRIX
    .union(Features::SUBGROUP_BARRIER)
    .union(Features::SUBGROUP)
    .union(Features::SHADER_F16);

/// The feature that element-wise products of matrices also need: SPIR-V that naga did not write alone.
pub(crate) const BY_VALUE: Features = Features::PASSTHROUGH_SHADERS;

/// Lanes of a subgroup that has a cooperative matrix, and rows, columns and depth of that.
const SUBGROUP: u32 = 32;
const SIDE: u32 = 16;

/// The features that an adapter has and Weft uses.
pub(crate) fn of(adapter: &Adapter, info: &AdapterInfo) -> Features {
    let cooperates = cooperates(adapter.features(), info, &adapter.cooperative_matrix_properties());
    adapter.features() & if cooperates { WANTED | COOPERATIVE | BY_VALUE } else { WANTED }
}

/// Whether there are cooperative matrices of the shape that kernels use, in subgroups of the size that they know.
fn cooperates(features: Features, info: &AdapterInfo, matrices: &[CooperativeMatrixProperties]) -> bool {
    let used = |found: &CooperativeMatrixProperties| {
        let shape = [found.m_size, found.n_size, found.k_size];
        let types = [found.ab_type, found.cr_type];
        shape == [SIDE; 3] && types == [CooperativeScalarType::F16, CooperativeScalarType::F32]
    };
    let sizes = [info.subgroup_min_size, info.subgroup_max_size];
    features.contains(COOPERATIVE) && sizes == [SUBGROUP; 2] && matrices.iter().any(used)
}

#[cfg(test)]
mod tests {
    use wgpu::{Backend, DeviceType};

    use super::*;

    #[test]
    fn matrices_of_another_shape_or_type_are_not_used() {
        let info = |sizes: [u32; 2]| AdapterInfo {
            subgroup_min_size: sizes[0],
            subgroup_max_size: sizes[1],
            ..AdapterInfo::new(DeviceType::DiscreteGpu, Backend::Vulkan)
        };
        let matrix = |m_size, n_size, k_size, cr_type| CooperativeMatrixProperties {
            m_size,
            n_size,
            k_size,
            ab_type: CooperativeScalarType::F16,
            cr_type,
            saturating_accumulation: false,
        };
        let floats = CooperativeScalarType::F32;
        let used = matrix(16, 16, 16, floats);
        let others = [
            matrix(16, 8, 16, floats),
            matrix(8, 8, 8, floats),
            matrix(16, 16, 16, CooperativeScalarType::F16),
        ];
        let all = Features::all();
        assert!(cooperates(all, &info([32, 32]), &[others[0], used]));
        assert!(!cooperates(all, &info([32, 32]), &others));
        assert!(!cooperates(all, &info([32, 64]), &[used]));
        assert!(!cooperates(all - Features::SUBGROUP_BARRIER, &info([32, 32]), &[used]));
    }
}
