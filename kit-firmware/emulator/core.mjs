/**
 * The Cortex-M0+: rp2040js' processor with a faster and more exact execution of instructions.
 *
 * rp2040js finds an instruction by up to eighty comparisons; here a table says which it is and what
 * it does. Memory is read and written directly. Cycle counts are rp2040js'. Mended on the way, as
 * core.test.mjs shows: SEV sets the event register, carry of shifts by a register, carry and
 * overflow of ADCS and SBCS, STM with its base in the list, BLX by the link register. What is rare
 * is still executed by rp2040js (`super`), as are special registers; exceptions are in exceptions.mjs.
 */
import { ExceptionCore } from './exceptions.mjs';
import { INSTRUCTIONS } from './instructions.mjs';

const SRAM = 0x20000000;
const OTHER = 0;

/** For each halfword the number of its instruction, from 1; 0 is left to rp2040js. */
const decoded = new Uint8Array(0x10000);
INSTRUCTIONS.forEach(([, mask, value], i) => {
  for (let op = 0; op < 0x10000; op++) if ((op & mask) === value) decoded[op] = i + 1;
});

/** By that number, what it does: (core, op, pc) => cycles. */
const EXECUTE = [null, ...INSTRUCTIONS.map(([, , , execute]) => execute)];

export class Core extends ExceptionCore {
  constructor(rp2040) {
    super(rp2040);
    this.flash16 = new Uint16Array(rp2040.flash.buffer);
    this.flash32 = new Uint32Array(rp2040.flash.buffer);
    this.sram8 = rp2040.sram;
    this.sram16 = new Uint16Array(rp2040.sram.buffer);
    this.sram32 = new Uint32Array(rp2040.sram.buffer);
    this.sram_size = rp2040.sram.length;
  }

  // --- memory

  readUint32(address) {
    const region = address >>> 28;
    if ((address & 3) === 0) {
      if (region === 2) {
        const offset = (address - SRAM) >>> 0;
        if (offset < this.sram_size) return this.sram32[offset >>> 2];
      } else if (region === 1 && address >>> 0 < 0x14000000) {
        return this.flash32[(address & 0xffffff) >>> 2];
      } else if (region === 0xd) return this.rp2040.sio.readUint32(address & 0xfffffff);
    }
    return this.rp2040.readUint32(address);
  }

  readUint16(address) {
    const region = address >>> 28;
    if ((address & 1) === 0) {
      if (region === 1 && address >>> 0 < 0x11000000)
        return this.flash16[(address & 0xffffff) >>> 1];
      if (region === 2) {
        const offset = (address - SRAM) >>> 0;
        if (offset < this.sram_size) return this.sram16[offset >>> 1];
      }
    }
    return this.rp2040.readUint16(address >>> 0);
  }

  readUint8(address) {
    if (address >>> 28 === 2) {
      const offset = (address - SRAM) >>> 0;
      if (offset < this.sram_size) return this.sram8[offset];
    }
    return this.rp2040.readUint8(address >>> 0);
  }

  writeUint32(address, value) {
    const region = address >>> 28;
    if (region === 2 && (address & 3) === 0) {
      const offset = (address - SRAM) >>> 0;
      if (offset < this.sram_size) {
        this.sram32[offset >>> 2] = value;
        return;
      }
    } else if (region === 0xd) {
      this.rp2040.sio.writeUint32(address & 0xfffffff, value);
      return;
    }
    this.rp2040.writeUint32(address, value);
  }

  writeUint16(address, value) {
    if (address >>> 28 === 2 && (address & 1) === 0) {
      const offset = (address - SRAM) >>> 0;
      if (offset < this.sram_size) {
        this.sram16[offset >>> 1] = value;
        return;
      }
    }
    this.rp2040.writeUint16(address >>> 0, value);
  }

  writeUint8(address, value) {
    if (address >>> 28 === 2) {
      const offset = (address - SRAM) >>> 0;
      if (offset < this.sram_size) {
        this.sram8[offset] = value;
        return;
      }
    }
    this.rp2040.writeUint8(address >>> 0, value);
  }

  /** Cycles that a load (or a store) takes beyond the first: as rp2040js' cyclesIO. */
  extraCycles(address, store) {
    const region = address >>> 28;
    if (region === 0xd) return 0;
    if (region === 4) return store ? 4 : 3;
    return 1;
  }

  // --- flags

  setNZ(result) {
    this.N = (result & 0x80000000) !== 0;
    this.Z = (result | 0) === 0;
  }

  addWithCarry(a, b, carry) {
    const sum = a + b + carry;
    const result = sum >>> 0;
    this.N = (result & 0x80000000) !== 0;
    this.Z = result === 0;
    this.C = sum !== result;
    this.V = (~(a ^ b) & (a ^ result) & 0x80000000) !== 0;
    return result;
  }

  subtract(a, b) {
    return this.addWithCarry(a, ~b >>> 0, 1);
  }

  /** Shift by a register's low byte: 0 keeps the carry. */
  shift(value, by, result, carry) {
    if (by) this.C = carry;
    this.setNZ(by ? result : value);
    return by ? result : value;
  }

  // --- execution

  /** A branch to the current instruction's address + 4 + offset. */
  branch(offset) {
    this.registers[15] += offset + 2;
    return 2;
  }

  branchIf(condition, op) {
    return condition ? this.branch((op << 24) >> 23) : 1;
  }

  /** Execute one instruction, or enter or leave a handler; returns how many cycles it takes. */
  executeInstruction() {
    if (this.interruptsUpdated) this.checkForInterrupts();
    if (this.owed_cycles) {
      const cycles = this.owed_cycles;
      this.owed_cycles = 0;
      return cycles;
    }
    const r = this.registers;
    const pc = r[15] & ~1;
    const op = this.readUint16(pc);
    const kind = decoded[op];
    if (kind === OTHER) return super.executeInstruction();
    r[15] = pc + 2;
    return EXECUTE[kind](this, op, pc);
  }

  /** Let rp2040js execute the instruction at the program counter. */
  executeRare() {
    return super.executeInstruction();
  }
}
