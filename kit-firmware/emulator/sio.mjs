/**
 * The single-cycle IO block: rp2040js' with the queue from core 1, as far as a core 1 that is never
 * started uses it: whenever it comes out of reset its ROM sends a 0.
 */
import { RP2040 } from 'rp2040js';

// not exported by the package
const original = new RP2040();
const RPSIO = original.sio.constructor;
const RPPSM = original.peripherals[0x40010].constructor;

const FIFO_ST = 0x50;
const FIFO_WR = 0x54;
const FIFO_RD = 0x58;
const VALID = 1;
const READY = 2;
const FRCE_OFF = 4;
const PROC1 = 1 << 16;

export class Sio extends RPSIO {
  constructor(rp2040) {
    super(rp2040);
    this.from_core_1 = [];
  }

  readUint32(offset) {
    if (offset === FIFO_ST) return READY | (this.from_core_1.length ? VALID : 0);
    if (offset === FIFO_RD) return this.from_core_1.shift() ?? 0;
    return super.readUint32(offset);
  }

  writeUint32(offset, value) {
    if (offset === FIFO_WR) throw new Error('the firmware starts core 1, which is not emulated');
    if (offset !== FIFO_ST) super.writeUint32(offset, value);
  }
}

/** The power-on state machine: holds core 1 in reset. */
export class PowerOnMachine extends RPPSM {
  writeUint32(offset, value) {
    const released = offset === FRCE_OFF && this.frceOff & ~value & PROC1;
    super.writeUint32(offset, value);
    if (!released) return;
    this.rp2040.sio.from_core_1.push(0);
    // it says so by SEV, too
    this.rp2040.core.eventRegistered = true;
  }
}
