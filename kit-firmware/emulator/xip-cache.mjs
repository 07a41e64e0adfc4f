/**
 * The cache before the RP2040's flash: 16 kB, two ways, lines of 8 bytes (RP2040 data sheet, 2.6.3).
 *
 * A hit costs nothing beyond the access; a miss lets the processor wait until the line has come
 * over the serial bus. How long that takes depends on the clock divider and the mode of the chip;
 * the caller chooses. The data sheet does not say which way a new line takes: here it is the one
 * that was used longer ago.
 */
import { Core } from './core.mjs';

const LINE_BITS = 3;
const SETS = 1024;
const FLASH = 0x1;
// which accesses allocate a line, and which look for one: bits 25 and 24 of the address
const NO_ALLOCATE = 0x01000000;
const NO_CACHE = 0x02000000;
const CONTROL = 0x14000000;
const CONTROL_FLUSH = CONTROL + 4;

export class XipCache {
  constructor() {
    /** The line in each way of each set: the one used last first; -1: none. */
    this.lines = new Int32Array(2 * SETS);
    this.flush();
  }

  flush() {
    this.lines.fill(-1);
  }

  /** Access an address; returns whether the line was missing. */
  misses(address) {
    const line = (address & 0x00ffffff) >>> LINE_BITS;
    const set = (line & (SETS - 1)) << 1;
    const { lines } = this;
    if (address & NO_CACHE) return true;
    if (lines[set] === line) return false;
    const missing = lines[set + 1] !== line;
    if (missing && address & NO_ALLOCATE) return true;
    lines[set + 1] = lines[set];
    lines[set] = line;
    return missing;
  }
}

/** A processor that waits for the flash where the cache has a miss. */
export class CachedCore extends Core {
  /** @param {number} miss_cycles how long a miss lets the processor wait */
  constructor(rp2040, miss_cycles) {
    super(rp2040);
    this.cache = new XipCache();
    this.miss_cycles = miss_cycles;
    this.misses = 0;
    this.waits = 0;
  }

  access(address) {
    if (address >>> 28 !== FLASH || address >>> 0 >= CONTROL) return;
    if (!this.cache.misses(address)) return;
    this.misses++;
    this.waits += this.miss_cycles;
  }

  readUint32(address) {
    this.access(address);
    return super.readUint32(address);
  }

  readUint16(address) {
    this.access(address);
    return super.readUint16(address);
  }

  readUint8(address) {
    this.access(address);
    return super.readUint8(address);
  }

  writeUint32(address, value) {
    if (address >>> 0 === CONTROL_FLUSH) this.cache.flush();
    super.writeUint32(address, value);
  }

  /** Let the instruction that is being executed take so much longer. */
  wait(cycles) {
    this.waits += cycles;
  }

  executeInstruction() {
    const cycles = super.executeInstruction() + this.waits;
    this.waits = 0;
    return cycles;
  }
}
