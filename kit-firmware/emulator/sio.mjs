// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: MIT

/** The single-cycle IO block: rp2040js' with the queues between the cores, at whose end nobody is. */
import { RP2040 } from 'rp2040js';

// not exported by the package
const RPSIO = new RP2040().sio.constructor;

const FIFO_ST = 0x50;
const FIFO_WR = 0x54;
const FIFO_RD = 0x58;
const READY_TO_SEND = 2;

export class Sio extends RPSIO {
  readUint32(offset) {
    if (offset === FIFO_ST) return READY_TO_SEND;
    if (offset === FIFO_RD) return 0;
    return super.readUint32(offset);
  }

  writeUint32(offset, value) {
    if (offset === FIFO_ST || offset === FIFO_WR) return;
    super.writeUint32(offset, value);
  }
}
