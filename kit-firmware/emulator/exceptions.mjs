/**
 * Exceptions of the Cortex-M0+: which one is taken when, and how long that takes.
 *
 * rp2040js takes exceptions in no time, never clears a device's line that software pended, and takes
 * masked ones where WFI ends. Here the interrupt controller has what the ARMv6-M manual gives it
 * (B3.4): a line's level, which pends it when it rises and again at the end of its handler, and a
 * pending state, which only the handler's begin or a write to ICPR ends.
 */
import { RP2040 } from 'rp2040js';

// not exported by the package
const CortexM0Core = new RP2040().core.constructor;

/** From an interrupt to its handler's first instruction: Arm's figure for an M0+ without wait states. */
export const ENTRY_CYCLES = 15;
/** From a handler's last instruction on, which is counted, to the first one behind it. */
export const RETURN_CYCLES = 16;
/** From one handler's last instruction to the first of the next: entry without the eight words. */
export const TAIL_CHAIN_CYCLES = ENTRY_CYCLES - 8;
/** What BX and POP have taken already for their jump. */
const JUMP_CYCLES = 2;

const NMI = 2;
const SVCALL = 11;
const PENDSV = 14;
const SYSTICK = 15;
const FIRST_LINE = 16;
const PRIORITIES = 4;

export class ExceptionCore extends CortexM0Core {
  constructor(rp2040) {
    super(rp2040);
    /** What devices say: a bit a line. */
    this.levels = 0;
    /** Cycles of an entry or return that are still to be spent. */
    this.owed_cycles = 0;
  }

  /** A device raises its line or lets it fall. */
  setInterrupt(line, level) {
    const bit = 1 << line;
    if (!level) this.levels &= ~bit;
    else if (!(this.levels & bit)) {
      this.levels |= bit;
      this.pendingInterrupts |= bit;
      this.interruptsUpdated = true;
    }
  }

  /** Software takes back what is pending; a line that is up stays so. */
  clearPending(lines) {
    this.pendingInterrupts &= ~(lines & ~this.levels);
  }

  /** The exception that comes first of those more urgent than priority `limit`; 0: none. */
  mostUrgent(limit) {
    if (this.pendingNMI) return NMI;
    const lines = this.pendingInterrupts & this.enabledInterrupts;
    for (let priority = 0; priority < limit; priority++) {
      if (this.pendingSVCall && priority === this.svCallPriority) return SVCALL;
      if (this.pendingPendSV && priority === this.pendSVPriority) return PENDSV;
      if (this.pendingSystick && priority === this.systickPriority) return SYSTICK;
      const here = lines & this.interruptPriorities[priority];
      if (here) return FIRST_LINE + 31 - Math.clz32(here & -here);
    }
    return 0;
  }

  get activePriority() {
    return this.IPSR ? this.exceptionPriority(this.IPSR) : PRIORITIES;
  }

  /** Take what is pending and may be taken; tell whether there was something. */
  checkForInterrupts() {
    const limit = this.activePriority;
    const exception = this.mostUrgent(this.PM ? Math.min(limit, 0) : limit);
    if (!exception) {
      this.interruptsUpdated = false;
      return false;
    }
    if (exception === NMI) this.pendingNMI = false;
    else if (exception === SVCALL) this.pendingSVCall = false;
    else if (exception === PENDSV) this.pendingPendSV = false;
    else if (exception === SYSTICK) this.pendingSystick = false;
    else this.pendingInterrupts &= ~(1 << (exception - FIRST_LINE));
    this.exceptionEntry(exception);
    return true;
  }

  /** In WFI or WFE: go on if there is a reason to; one that is masked is one, too. */
  wakeIfPending() {
    if (this.mostUrgent(this.activePriority)) {
      this.interruptsUpdated = true;
      this.waiting = false;
    }
    if (this.eventRegistered) {
      this.eventRegistered = false;
      this.waiting = false;
    }
  }

  exceptionEntry(exception) {
    super.exceptionEntry(exception);
    // nothing was executed since a return: its frame need not be taken off and put back
    this.owed_cycles = this.owed_cycles ? TAIL_CHAIN_CYCLES : ENTRY_CYCLES;
  }

  exceptionReturn(how) {
    const line = this.IPSR - FIRST_LINE;
    super.exceptionReturn(how);
    if (line >= 0) this.pendingInterrupts |= this.levels & (1 << line);
    this.owed_cycles = RETURN_CYCLES - JUMP_CYCLES;
  }
}
