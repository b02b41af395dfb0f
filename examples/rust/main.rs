//! A histogram of one column of a data set, through the C interface:
//!
//!     bindgen --with-derive-default --size_t-is-usize colonnade.h -o colonnade.rs
//!     COLONNADE_RS=$PWD/colonnade.rs rustc --edition 2021 main.rs -l colonnade
//!     ./main FILE COLUMN BINS LOW HIGH

#[allow(dead_code, non_camel_case_types, non_snake_case, non_upper_case_globals)]
mod colonnade {
    include!(env!("COLONNADE_RS"));
}

use colonnade::*;
use std::ffi::{CStr, CString};
use std::{env, error, process, ptr, slice};

type Result<T> = std::result::Result<T, Box<dyn error::Error>>;

/// An error of a status: its text is this thread's last one.
fn check(status: colonnade_status) -> Result<()> {
    if status == colonnade_status_code_COLONNADE_OK as colonnade_status {
        return Ok(());
    }
    let message = unsafe { CStr::from_ptr((*colonnade_last_error()).message) };
    Err(message.to_string_lossy().into_owned().into())
}

/// A data frame that is released when it goes out of scope.
struct Frame(*mut colonnade_frame);

impl Frame {
    fn open(file: &str) -> Result<Frame> {
        let uri = CString::new(file)?;
        let mut frame = ptr::null_mut();
        check(unsafe { colonnade_frame_open(ptr::null(), &uri.as_ptr(), 1, ptr::null(), &mut frame) })?;
        Ok(Frame(frame))
    }

    /// The contents of the bins, between those of what is below and above, and the number of entries.
    fn histogram(&self, column: &str, bins: u32, low: f64, high: f64) -> Result<(Vec<f64>, u64)> {
        let name = CString::new(column)?;
        let axis = colonnade_axis { bins, low, high, ..Default::default() };
        let mut result = ptr::null_mut();
        unsafe {
            check(colonnade_frame_histogram(self.0, &axis, &name.as_ptr(), 1, ptr::null(), &mut result))?;
            let mut found = colonnade_histogram::default();
            let outcome = check(colonnade_result_histogram(result, &mut found)).map(|()| {
                let cells = slice::from_raw_parts(found.values, found.num_cells as usize);
                (cells.to_vec(), found.entries)
            });
            colonnade_result_release(result);
            outcome
        }
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        unsafe { colonnade_frame_release(self.0) }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let (file, column, bins, low, high) = match arguments {
        [file, column, bins, low, high] => (file, column, bins, low, high),
        _ => return Err("usage: FILE COLUMN BINS LOW HIGH".into()),
    };
    let frame = Frame::open(file)?;
    let (cells, entries) = frame.histogram(column, bins.parse()?, low.parse()?, high.parse()?)?;
    println!("{} {:?}", entries, cells);
    Ok(())
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let Err(error) = run(&arguments) {
        eprintln!("{}", error);
        process::exit(1);
    }
}
