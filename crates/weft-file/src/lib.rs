//! Files that are replaced atomically, and the folders where a user's files belong.
//!
//! ```
//! use std::io::Write as _;
//!
//! use weft_file::AtomicFile;
//!
//! # let folder = std::env::temp_dir().join(format!("weft-file-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let path = folder.join("report.txt");
//! weft_file::write(&path, b"first version")?;
//!
//! // Until `commit` is called, the old version is at `path`.
//! let mut file = AtomicFile::create(&path)?;
//! file.write_all(b"second version")?;
//! assert_eq!(std::fs::read(&path)?, b"first version");
//! file.commit()?;
//! assert_eq!(std::fs::read(&path)?, b"second version");
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Durability
//!
//! Every file that Weft writes is written this way:
//!
//! 1. A **part file** is created beside the target, so that both are on the same file system. Its name is
//!    `NAME.<16 hexadecimal digits>.part`; the digits are random and the file must be new, so no two writers share one,
//!    whatever process, container or machine they run in.
//! 2. The bytes are written to it. If the target exists, the part file has its permissions from the start.
//! 3. [`AtomicFile::commit`] syncs the part file to the disk, renames it to the target, and syncs the folder (on Unix;
//!    other systems have no call for that, and neither do some network file systems).
//!
//! So at any moment the target is the old file or the new one, whole. Once `commit` has returned `Ok`, the new file
//! survives a power failure; before that, the old one does. If `commit` fails, the old file is still there, with one
//! exception: if only syncing the folder failed, the new file is in place, and which of the two a power failure leaves is
//! up to the file system.
//!
//! Files of a cache that are verified at each use may skip the syncing ([`AtomicFile::commit_unsynced`]): they survive a
//! killed process, and a power failure costs only the work of making them again.
//!
//! A dropped [`AtomicFile`] removes its part file. A process that is killed cannot, and leaves it behind; since a writer
//! holds a lock on its part file for as long as it lives, [`sweep`] can tell abandoned ones and remove them.
//!
//! A part file made by [`AtomicFile::resume`] has a name that the caller chooses and is never removed, so that another
//! process can continue a download. It is committed in the same way.
//!
//! Symbolic links are followed and stay; what they lead to is replaced. Devices, pipes and sockets are never replaced:
//! they are opened and written to directly, with none of the guarantees above. Permissions of a replaced file are kept,
//! its owner is not, and other hard links to it keep the old contents.
#![forbid(unsafe_code)]

mod atomic;
mod fault;
mod folders;
mod in_use;
mod listing;
mod part;
mod target;

pub use atomic::{AtomicFile, write};
pub use folders::{PACKED_FOLDER, PROMPTS_FOLDER, cache_folder, config_folder, create_private, data_folder};
pub use in_use::remove;
pub use listing::{entries, is_keyed, remove_files};
pub use part::{abandoned, sweep};
pub use target::{Target, canonical};
