// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: GPL-2.0-only
//! answer - answers each ping as answer.c does, in Rust: its standard library, and no crate.
//!
//! Tennis does not compile it. docs/programs.md has the command that makes a static executable.

use std::ffi::c_void;
use std::fs::{read_dir, File, OpenOptions};
use std::io::{Error, Read};
use std::mem::size_of;
use std::os::raw::{c_int, c_ulong};
use std::os::unix::io::{AsRawFd, FromRawFd};

const PING: &str = "GPIO17";
const REPLY: &str = "GPIO27";
const PRIORITY: c_int = 50; // as the kernel's threads of interrupts have

// linux/gpio.h, version 2
const INPUT: u64 = 1 << 2;
const OUTPUT: u64 = 1 << 3;
const EDGE_RISING: u64 = 1 << 4;

#[repr(C)]
struct ChipInfo {
    name: [u8; 32],
    label: [u8; 32],
    lines: u32,
}

#[repr(C)]
struct LineInfo {
    name: [u8; 32],
    consumer: [u8; 32],
    offset: u32,
    attributes: u32,
    flags: u64,
    attribute: [[u64; 2]; 10],
    padding: [u32; 4],
}

#[repr(C)]
struct Config {
    flags: u64,
    attributes: u32,
    padding: [u32; 5],
    attribute: [[u64; 3]; 10],
}

#[repr(C)]
struct Request {
    offsets: [u32; 64],
    consumer: [u8; 32],
    config: Config,
    lines: u32,
    buffer: u32,
    padding: [u32; 5],
    fd: i32,
}

#[repr(C)]
struct Values {
    bits: u64,
    mask: u64,
}

/// The number of an ioctl that reads and writes, as asm-generic/ioctl.h makes it; 2: it only reads.
const fn number(way: c_ulong, code: c_ulong, size: usize) -> c_ulong {
    way << 30 | (size as c_ulong) << 16 | 0xb4 << 8 | code
}

const CHIP_INFO: c_ulong = number(2, 1, size_of::<ChipInfo>());
const LINE_INFO: c_ulong = number(3, 5, size_of::<LineInfo>());
const GET_LINE: c_ulong = number(3, 7, size_of::<Request>());
const SET_VALUES: c_ulong = number(3, 0xf, size_of::<Values>());

extern "C" {
    fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int;
    fn mlockall(flags: c_int) -> c_int;
    fn sched_setscheduler(pid: c_int, policy: c_int, priority: *const c_int) -> c_int;
}

fn fail(what: &str) -> ! {
    eprintln!("{}: {}", what, Error::last_os_error());
    std::process::exit(1)
}

/// All zeros: what the kernel wants in what nobody says.
fn zeroed<T>() -> T {
    // every one of these is numbers alone
    unsafe { std::mem::zeroed() }
}

fn control<T>(file: &File, request: c_ulong, argument: &mut T) -> bool {
    // the argument has the size that the request's number says
    unsafe { ioctl(file.as_raw_fd(), request, argument as *mut T as *mut c_void) == 0 }
}

/// The offset of a named line on a chip, if it has one.
fn offset_of(chip: &File, name: &str) -> Option<u32> {
    let mut about: ChipInfo = zeroed();
    if !control(chip, CHIP_INFO, &mut about) {
        return None;
    }
    (0..about.lines).find(|&offset| {
        let mut line: LineInfo = zeroed();
        line.offset = offset;
        let mut wanted = [0; 32];
        wanted[..name.len()].copy_from_slice(name.as_bytes());
        control(chip, LINE_INFO, &mut line) && line.name == wanted
    })
}

/// Take a line by its name, on whichever chip it is.
fn take(name: &str, flags: u64) -> File {
    for entry in read_dir("/dev").unwrap_or_else(|_| fail("/dev")).flatten() {
        if !entry.file_name().to_string_lossy().starts_with("gpiochip") {
            continue;
        }
        let chip = OpenOptions::new().read(true).write(true).open(entry.path());
        let chip = chip.unwrap_or_else(|_| fail("a chip of GPIO lines"));
        if let Some(offset) = offset_of(&chip, name) {
            let mut request: Request = zeroed();
            request.offsets[0] = offset;
            request.consumer[..6].copy_from_slice(b"answer");
            request.config.flags = flags;
            request.lines = 1;
            if !control(&chip, GET_LINE, &mut request) {
                fail(name);
            }
            // the kernel has just made this descriptor for us
            return unsafe { File::from_raw_fd(request.fd) };
        }
    }
    fail(name)
}

fn set(reply: &File, value: u64) {
    if !control(reply, SET_VALUES, &mut Values { bits: value, mask: 1 }) {
        fail(REPLY);
    }
}

fn main() {
    const ALL: c_int = 1 | 2; // MCL_CURRENT, MCL_FUTURE
    const FIFO: c_int = 1;
    if unsafe { mlockall(ALL) } != 0 {
        fail("cannot lock its memory");
    }
    if unsafe { sched_setscheduler(0, FIFO, &PRIORITY) } != 0 {
        fail("cannot take a real-time priority");
    }
    let reply = take(REPLY, OUTPUT);
    let mut ping = take(PING, INPUT | EDGE_RISING);
    println!("waits for {}, answers on {}", PING, REPLY);
    let mut event = [0; 48]; // struct gpio_v2_line_event
    loop {
        if !matches!(ping.read(&mut event), Ok(48)) {
            fail(PING);
        }
        set(&reply, 1);
        set(&reply, 0);
    }
}
