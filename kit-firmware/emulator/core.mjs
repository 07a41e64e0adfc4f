// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: MIT

/** rp2040js' Cortex-M0+, with what it lacks. */
import { RP2040 } from 'rp2040js';

// not exported by the package
const CortexM0Core = new RP2040().core.constructor;

const SEV = 0xbf40;

export class Core extends CortexM0Core {
  executeInstruction() {
    // rp2040js ignores SEV: a WFE after it would sleep through what it announces
    if (this.readUint16(this.PC & ~1) === SEV) this.eventRegistered = true;
    return super.executeInstruction();
  }

  /** In WFI or WFE: go on if there is a reason to. */
  wakeIfPending() {
    if (this.interruptsUpdated && this.checkForInterrupts()) this.waiting = false;
    if (this.eventRegistered) {
      this.eventRegistered = false;
      this.waiting = false;
    }
  }
}
