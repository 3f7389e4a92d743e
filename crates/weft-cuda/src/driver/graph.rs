//! Graphs: kernels that run one after another, launched together.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUDA_KERNEL_NODE_PARAMS, CUevent_flags, CUgraphEdgeData};

use super::{Context, Failure, Function, check};

/// The outgoing port of a kernel whose dependents may start once all its blocks have allowed it
/// (`CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC`).
const PROGRAMMATIC_PORT: u8 = 1;

/// An edge that does not order memory until the dependent kernel asks for it (`CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC`).
const PROGRAMMATIC_EDGE: u8 = 1;

/// Most arguments of a kernel: the renderer's limit of slots, `args`, `sizes` and scratch memory.
pub(crate) const MOST_ARGS: usize = 132;

/// A launch of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) function: Function,
    /// Its arguments' bytes; there are at most [`MOST_ARGS`].
    pub(crate) args: Vec<Vec<u64>>,
    /// Blocks along the three axes; all 0 if the kernel has nothing to do.
    pub(crate) grid: [u32; 3],
    /// Threads of a block.
    pub(crate) lanes: u32,
    /// Bytes of dynamic shared memory.
    pub(crate) dynamic_bytes: u32,
    /// Whether it may start before the kernel before it has ended: its text waits for that itself.
    pub(crate) early: bool,
}

impl Node {
    /// Calls `f` with the driver's description. A node with nothing to do is described with one block.
    fn describe<T>(&self, f: impl FnOnce(&CUDA_KERNEL_NODE_PARAMS) -> T) -> T {
        let mut args = [ptr::null_mut::<c_void>(); MOST_ARGS];
        for (to, arg) in args.iter_mut().zip(&self.args) {
            *to = arg.as_ptr().cast_mut().cast();
        }
        let [x, y, z] = self.grid.map(|n| n.max(1));
        f(&CUDA_KERNEL_NODE_PARAMS {
            func: self.function.raw,
            gridDimX: x,
            gridDimY: y,
            gridDimZ: z,
            blockDimX: self.lanes,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: self.dynamic_bytes,
            kernelParams: args.as_mut_ptr(),
            extra: ptr::null_mut(),
            kern: ptr::null_mut(),
            ctx: ptr::null_mut(),
        })
    }
}

/// A graph of nodes in order, ready to launch.
#[derive(Debug)]
pub(crate) struct Graph {
    context: Arc<Context>,
    graph: sys::CUgraph,
    exec: sys::CUgraphExec,
    nodes: Vec<sys::CUgraphNode>,
    /// The functions and their modules must stay.
    _functions: Vec<Function>,
    /// The events must stay.
    _events: Vec<Arc<Event>>,
}

// SAFETY: handles, which the driver takes from any thread; methods that change the graph take it exclusively.
unsafe impl Send for Graph {}

impl Graph {
    /// Builds a graph. With `events`, one is recorded before the first node and one after each, and no node starts early.
    pub(crate) fn new(
        context: &Arc<Context>,
        nodes: &[Node],
        events: &[Arc<Event>],
    ) -> Result<Graph, Failure> {
        context.enter()?;
        let mut graph = ptr::null_mut();
        // SAFETY: the driver stores a handle; `drop` destroys it.
        check(unsafe { sys::cuGraphCreate(&raw mut graph, 0) })?;
        let mut made = Graph {
            context: Arc::clone(context),
            graph,
            exec: ptr::null_mut(),
            nodes: Vec::with_capacity(nodes.len()),
            _functions: nodes.iter().map(|node| node.function.clone()).collect(),
            _events: events.to_vec(),
        };
        let mut events = events.iter();
        let mut last = None;
        if let Some(event) = events.next() {
            last = Some(made.record(last, event)?);
        }
        for node in nodes {
            let mut added = ptr::null_mut();
            let plain = last.as_slice();
            let early = node.early && !made.nodes.is_empty() && made._events.is_empty();
            let before = if early { &[] } else { plain };
            node.describe(|described| {
                // SAFETY: the function lives as long as the graph, and the arguments are copied here.
                check(unsafe {
                    let (from, count) = (before.as_ptr(), before.len());
                    sys::cuGraphAddKernelNode_v2(&raw mut added, graph, from, count, described)
                })
            })?;
            if let (true, Some(from)) = (early, last) {
                let edge = CUgraphEdgeData {
                    from_port: PROGRAMMATIC_PORT,
                    to_port: 0,
                    type_: PROGRAMMATIC_EDGE,
                    reserved: [0; 5],
                };
                // SAFETY: both nodes belong to this graph.
                check(unsafe {
                    sys::cuGraphAddDependencies_v2(
                        graph,
                        &raw const from,
                        &raw const added,
                        &raw const edge,
                        1,
                    )
                })?;
            }
            made.nodes.push(added);
            last = Some(added);
            if let Some(event) = events.next() {
                last = Some(made.record(last, event)?);
            }
        }
        // SAFETY: the graph is complete; `drop` destroys what this makes.
        check(unsafe { sys::cuGraphInstantiateWithFlags(&raw mut made.exec, graph, 0) })?;
        for (at, node) in nodes.iter().enumerate() {
            if node.grid[0] == 0 {
                made.enable(at, false)?;
            }
        }
        Ok(made)
    }

    /// Adds a node that records an event.
    fn record(&self, before: Option<sys::CUgraphNode>, event: &Event) -> Result<sys::CUgraphNode, Failure> {
        let mut added = ptr::null_mut();
        let before = before.as_slice();
        // SAFETY: the event lives as long as the graph.
        check(unsafe {
            let (from, count) = (before.as_ptr(), before.len());
            sys::cuGraphAddEventRecordNode(&raw mut added, self.graph, from, count, event.raw)
        })?;
        Ok(added)
    }

    fn enable(&self, at: usize, enabled: bool) -> Result<(), Failure> {
        // SAFETY: the node belongs to the graph that was instantiated.
        check(unsafe { sys::cuGraphNodeSetEnabled(self.exec, self.nodes[at], enabled.into()) })
    }

    /// Changes the arguments and the grid of node `at` for later launches. Its function, lanes and memory stay.
    ///
    /// # Panics
    /// If there is no such node.
    pub(crate) fn update(&mut self, at: usize, node: &Node) -> Result<(), Failure> {
        self.context.enter()?;
        self.enable(at, node.grid[0] > 0)?;
        node.describe(|described| {
            // SAFETY: the node belongs to the graph that was instantiated, and the arguments are copied here.
            check(unsafe { sys::cuGraphExecKernelNodeSetParams_v2(self.exec, self.nodes[at], described) })
        })
    }

    /// Launches it, after all work before.
    pub(crate) fn launch(&mut self) -> Result<(), Failure> {
        self.context.enter()?;
        // SAFETY: the graph was instantiated. Its kernels access their buffers within bounds: `Program::verify` and the
        // renderer see to that.
        check(unsafe { sys::cuGraphLaunch(self.exec, self.context.stream) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // It may still run.
        let _ = self.context.wait();
        if !self.exec.is_null() {
            // SAFETY: instantiated in `new`.
            let _ = unsafe { sys::cuGraphExecDestroy(self.exec) };
        }
        // SAFETY: created in `new`.
        let _ = unsafe { sys::cuGraphDestroy(self.graph) };
    }
}

/// A point in time on the card.
#[derive(Debug)]
pub(crate) struct Event {
    context: Arc<Context>,
    pub(super) raw: sys::CUevent,
}

// SAFETY: a handle, which the driver takes from any thread.
unsafe impl Send for Event {}
// SAFETY: see above.
unsafe impl Sync for Event {}

impl Event {
    /// An event that was never recorded.
    pub(crate) fn new(context: &Arc<Context>) -> Result<Arc<Event>, Failure> {
        Event::with(context, CUevent_flags::CU_EVENT_DEFAULT)
    }

    /// The same that does not know its time, so recording it takes less.
    pub(crate) fn without_time(context: &Arc<Context>) -> Result<Arc<Event>, Failure> {
        Event::with(context, CUevent_flags::CU_EVENT_DISABLE_TIMING)
    }

    fn with(context: &Arc<Context>, flags: CUevent_flags) -> Result<Arc<Event>, Failure> {
        context.enter()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the driver stores a handle; `drop` destroys it.
        check(unsafe { sys::cuEventCreate(&raw mut raw, flags as u32) })?;
        Ok(Arc::new(Event { context: Arc::clone(context), raw }))
    }

    /// Nanoseconds from an earlier event to this one; both have happened.
    pub(crate) fn since(&self, earlier: &Event) -> Result<u64, Failure> {
        self.context.enter()?;
        let mut milliseconds = 0.0f32;
        // SAFETY: both events exist.
        check(unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, earlier.raw, self.raw) })?;
        Ok((f64::from(milliseconds) * 1e6) as u64)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let _ = self.context.wait();
        // SAFETY: created in `new`; graphs that record it keep it alive.
        let _ = unsafe { sys::cuEventDestroy_v2(self.raw) };
    }
}
