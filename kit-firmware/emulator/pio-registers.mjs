/** The registers of a PIO block, as the processor and DMA see them. */
import { BasePeripheral } from 'rp2040js';

const CTRL = 0x000;
const FSTAT = 0x004;
const FDEBUG = 0x008;
const FLEVEL = 0x00c;
const TXF0 = 0x010;
const RXF0 = 0x020;
const IRQ = 0x030;
const IRQ_FORCE = 0x034;
const INPUT_SYNC_BYPASS = 0x038;
const DBG_PADOUT = 0x03c;
const DBG_PADOE = 0x040;
const DBG_CFGINFO = 0x044;
const INSTR_MEM0 = 0x048;
const SM0 = 0x0c8;
const SM_SIZE = 0x18;
const INTR = 0x128;
const INTERRUPTS = 0x12c; // INTE, INTF, INTS of line 0, then of line 1

const FDEBUG_TXOVER = 16;
const FDEBUG_RXUNDER = 8;

export class PioRegisters extends BasePeripheral {
  /**
   * @param {import('./fabric.mjs').Fabric} fabric
   * @param {import('./pio.mjs').PioBlock} block
   * @param {number} first_irq the number of the block's first interrupt
   * @param {import('./dma.mjs').Dma} dma
   */
  constructor(rp2040, fabric, block, first_irq, dma) {
    super(rp2040, `PIO${block.index}`);
    this.fabric = fabric;
    this.block = block;
    this.first_irq = first_irq;
    this.dma = dma;
    this.enables = [0, 0];
    this.forces = [0, 0];
    this.raised = 0;
    // rp2040js' GPIO pins look through this list for machines to wake; ours wake themselves
    this.machines = [];
    block.onFifo = (machine, is_rx) => {
      this.updateInterrupts();
      dma.requested(8 * block.index + (is_rx ? 4 : 0) + machine);
    };
    block.onFlags = () => this.updateInterrupts();
  }

  get pinValues() {
    return this.block.pinValues;
  }

  get pinDirections() {
    return this.block.pinDirections;
  }

  /** Whether a queue of this block asks for a DMA transfer: 0 to 3 TX, 4 to 7 RX. */
  wants(request) {
    const machine = this.block.machines[request & 3];
    return request & 4 ? !machine.rx.empty : !machine.tx.full;
  }

  get interruptsRaw() {
    const { machines, irq } = this.block;
    let raw = (irq & 15) << 8;
    for (let i = 0; i < 4; i++) {
      if (!machines[i].rx.empty) raw |= 1 << i;
      if (!machines[i].tx.full) raw |= 0x10 << i;
    }
    return raw;
  }

  updateInterrupts() {
    const { enables, forces, first_irq } = this;
    if (!(enables[0] | enables[1] | forces[0] | forces[1] | this.raised)) return;
    const raw = this.interruptsRaw;
    this.raised = 0;
    for (let line = 0; line < 2; line++) {
      const status = (raw & enables[line]) | forces[line];
      if (status) this.raised = 1;
      this.rp2040.setInterrupt(first_irq + line, status !== 0);
    }
  }

  readUint32(offset) {
    offset &= 0xfff;
    const { block } = this;
    const { machines } = block;
    if (offset >= RXF0 && offset < IRQ) return this.readFifo((offset - RXF0) >> 2);
    if (offset >= TXF0 && offset < RXF0) return 0;
    if (offset >= INSTR_MEM0 && offset < SM0) return 0; // write-only
    if (offset >= SM0 && offset < INTR) {
      return this.readMachine(
        machines[Math.floor((offset - SM0) / SM_SIZE)],
        (offset - SM0) % SM_SIZE,
      );
    }
    if (offset >= INTERRUPTS && offset < INTERRUPTS + 24) {
      const line = offset >= INTERRUPTS + 12 ? 1 : 0;
      switch ((offset - INTERRUPTS) % 12) {
        case 0:
          return this.enables[line];
        case 4:
          return this.forces[line];
        default:
          return (this.interruptsRaw & this.enables[line]) | this.forces[line];
      }
    }
    switch (offset) {
      case CTRL:
        return machines.reduce((bits, { enabled }, i) => bits | (enabled ? 1 << i : 0), 0);
      case FSTAT:
        return (
          machines.reduce(
            (bits, { tx, rx }, i) =>
              bits |
              (rx.full ? 1 << i : 0) |
              (rx.empty ? 0x100 << i : 0) |
              (tx.full ? 0x10000 << i : 0) |
              (tx.empty ? 0x1000000 << i : 0),
            0,
          ) >>> 0
        );
      case FDEBUG:
        return block.fdebug >>> 0;
      case FLEVEL:
        return (
          machines.reduce(
            (bits, { tx, rx }, i) => bits | (tx.level << (8 * i)) | (rx.level << (8 * i + 4)),
            0,
          ) >>> 0
        );
      case IRQ:
        return block.irq;
      case IRQ_FORCE:
        return 0;
      case INPUT_SYNC_BYPASS:
        return block.bypass >>> 0;
      case DBG_PADOUT:
        return block.pinValues >>> 0;
      case DBG_PADOE:
        return block.pinDirections >>> 0;
      case DBG_CFGINFO:
        return 0x00200404; // 32 instructions, 4 machines, queues of 4 words
      case INTR:
        return this.interruptsRaw;
      default:
        return super.readUint32(offset);
    }
  }

  readFifo(index) {
    const machine = this.block.machines[index];
    if (machine.rx.empty) {
      this.block.setDebug(FDEBUG_RXUNDER, index);
      return 0;
    }
    const word = machine.rx.pull();
    this.changed(machine);
    return word;
  }

  readMachine(machine, register) {
    switch (register) {
      case 0x00:
        return (machine.divider << 8) >>> 0;
      case 0x04:
        return (machine.execctrl | (machine.forced ? 0x80000000 : 0)) >>> 0;
      case 0x08:
        return machine.shiftctrl;
      case 0x0c:
        this.block.touch(machine, this.fabric.visible);
        this.fabric.reschedule();
        return machine.pc;
      case 0x10:
        this.block.touch(machine, this.fabric.visible);
        this.fabric.reschedule();
        return machine.exec >= 0 ? machine.exec : this.block.instructions[machine.pc];
      default:
        return machine.pinctrl;
    }
  }

  writeUint32(offset, value) {
    const { block, fabric } = this;
    const { machines } = block;
    if (offset >= TXF0 && offset < RXF0) {
      this.writeFifo((offset - TXF0) >> 2, value);
      return;
    }
    if (offset >= INSTR_MEM0 && offset < SM0) {
      for (const machine of machines) machine.wake(fabric.visible);
      block.instructions[(offset - INSTR_MEM0) >> 2] = value;
      this.update();
      return;
    }
    if (offset >= SM0 && offset < INTR) {
      const machine = machines[Math.floor((offset - SM0) / SM_SIZE)];
      this.writeMachine(machine, (offset - SM0) % SM_SIZE, value);
      return;
    }
    if (offset >= INTERRUPTS && offset < INTERRUPTS + 24) {
      const line = offset >= INTERRUPTS + 12 ? 1 : 0;
      const register = (offset - INTERRUPTS) % 12;
      if (register === 0) this.enables[line] = value & 0xfff;
      else if (register === 4) this.forces[line] = value & 0xfff;
      this.raised = 1; // look at the lines also if nothing is enabled any more
      this.updateInterrupts();
      return;
    }
    switch (offset) {
      case CTRL:
        this.writeCtrl(value);
        break;
      case FDEBUG:
        block.fdebug = (block.fdebug & ~this.rawWriteValue) >>> 0;
        // whoever is still stalled says so again
        for (const machine of machines) machine.wake(fabric.visible);
        this.update();
        break;
      case IRQ:
        block.changeFlags(block.irq & ~this.rawWriteValue, fabric.visible);
        this.update();
        break;
      case IRQ_FORCE:
        block.changeFlags(block.irq | this.rawWriteValue, fabric.visible);
        this.update();
        break;
      case INPUT_SYNC_BYPASS:
        block.bypass = value & 0x3fffffff;
        fabric.feedInputs(fabric.visible);
        fabric.reschedule();
        break;
      case FSTAT:
      case FLEVEL:
      case INTR:
        break;
      default:
        super.writeUint32(offset, value);
    }
  }

  writeCtrl(value) {
    const cycle = this.fabric.visible;
    this.block.machines.forEach((machine, i) => {
      if (value & (0x10 << i)) machine.restart(cycle);
      if (value & (0x100 << i)) machine.restartClock(cycle);
      machine.setEnabled((value & (1 << i)) !== 0, cycle);
    });
    this.update();
  }

  writeFifo(index, value) {
    const machine = this.block.machines[index];
    if (machine.tx.full) {
      this.block.setDebug(FDEBUG_TXOVER, index);
      return;
    }
    // first settle where the machine is, with the queue as it was
    this.block.touch(machine, this.fabric.visible);
    machine.tx.push(value);
    this.changed(machine);
  }

  writeMachine(machine, register, value) {
    const cycle = this.fabric.visible;
    machine.wake(cycle);
    switch (register) {
      case 0x00: {
        const whole = value >>> 16 || 0x10000;
        if (machine.enabled) machine.advanceClockTo(cycle);
        machine.divider = whole * 256 + (whole === 0x10000 ? 0 : (value >>> 8) & 0xff);
        break;
      }
      case 0x04:
        machine.setExecctrl(value);
        break;
      case 0x08:
        machine.setShiftctrl(value);
        this.dma.requested(8 * this.block.index + machine.index);
        this.updateInterrupts();
        break;
      case 0x10:
        machine.force(value & 0xffff, cycle);
        break;
      case 0x14:
        machine.setPinctrl(value);
        break;
      default:
    }
    this.update();
  }

  /** A queue of a machine has changed. */
  changed(machine) {
    machine.wake(this.fabric.visible);
    this.update();
    this.updateInterrupts();
    // room in a TX queue or words in an RX queue: a request may have come or gone
    this.dma.requested(8 * this.block.index + machine.index);
    this.dma.requested(8 * this.block.index + 4 + machine.index);
  }

  update() {
    this.block.reschedule();
    this.fabric.reschedule();
    this.fabric.onTouch();
  }
}
