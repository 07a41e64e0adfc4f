/** The core's voltage regulator: it keeps what it is told, and is stable at once. */
import { BasePeripheral } from 'rp2040js';

const VREG = 0;
const VREG_AT_RESET = 0xb1;
const WRITABLE = 0xf3;
const STABLE = 1 << 12;

export class VoltageRegulator extends BasePeripheral {
  vreg = VREG_AT_RESET;

  readUint32(offset) {
    return offset === VREG ? this.vreg | STABLE : 0;
  }

  writeUint32(offset, value) {
    if (offset === VREG) this.vreg = value & WRITABLE;
  }
}
