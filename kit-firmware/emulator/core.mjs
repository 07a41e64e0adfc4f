// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: MIT

/**
 * The Cortex-M0+: rp2040js' processor with a faster and more exact execution of instructions.
 *
 * rp2040js finds an instruction by up to eighty comparisons; here a table built once says which it
 * is. Memory is read and written directly. Cycle counts are rp2040js'. Mended on the way, as
 * core.test.mjs shows: SEV sets the event register, carry of shifts by a register, carry and
 * overflow of ADCS and SBCS, STM with its base in the list, BLX by the link register. What is rare
 * is still executed by rp2040js (`super`), as are exceptions and special registers.
 */
import { RP2040 } from 'rp2040js';

// not exported by the package
const CortexM0Core = new RP2040().core.constructor;

const SRAM = 0x20000000;
const OTHER = 0;

/** Instructions as [name, mask, value], in the words of the ARMv6-M manual. */
export const INSTRUCTIONS = [
  ['LSL_IMM', 0xf800, 0x0000],
  ['LSR_IMM', 0xf800, 0x0800],
  ['ASR_IMM', 0xf800, 0x1000],
  ['ADD_REG', 0xfe00, 0x1800],
  ['SUB_REG', 0xfe00, 0x1a00],
  ['ADD_IMM3', 0xfe00, 0x1c00],
  ['SUB_IMM3', 0xfe00, 0x1e00],
  ['MOV_IMM', 0xf800, 0x2000],
  ['CMP_IMM', 0xf800, 0x2800],
  ['ADD_IMM8', 0xf800, 0x3000],
  ['SUB_IMM8', 0xf800, 0x3800],
  ['AND', 0xffc0, 0x4000],
  ['EOR', 0xffc0, 0x4040],
  ['LSL_REG', 0xffc0, 0x4080],
  ['LSR_REG', 0xffc0, 0x40c0],
  ['ASR_REG', 0xffc0, 0x4100],
  ['ADC', 0xffc0, 0x4140],
  ['SBC', 0xffc0, 0x4180],
  ['ROR', 0xffc0, 0x41c0],
  ['TST', 0xffc0, 0x4200],
  ['RSB', 0xffc0, 0x4240],
  ['CMP_REG', 0xffc0, 0x4280],
  ['ORR', 0xffc0, 0x4300],
  ['MUL', 0xffc0, 0x4340],
  ['BIC', 0xffc0, 0x4380],
  ['MVN', 0xffc0, 0x43c0],
  ['ADD_HIGH', 0xff00, 0x4400],
  ['CMP_HIGH', 0xff00, 0x4500],
  ['MOV_HIGH', 0xff00, 0x4600],
  ['BX', 0xff87, 0x4700],
  ['BLX', 0xff87, 0x4780],
  ['LDR_LITERAL', 0xf800, 0x4800],
  ['STR_REG', 0xfe00, 0x5000],
  ['STRH_REG', 0xfe00, 0x5200],
  ['STRB_REG', 0xfe00, 0x5400],
  ['LDRSB', 0xfe00, 0x5600],
  ['LDR_REG', 0xfe00, 0x5800],
  ['LDRH_REG', 0xfe00, 0x5a00],
  ['LDRB_REG', 0xfe00, 0x5c00],
  ['LDRSH', 0xfe00, 0x5e00],
  ['STR_IMM', 0xf800, 0x6000],
  ['LDR_IMM', 0xf800, 0x6800],
  ['STRB_IMM', 0xf800, 0x7000],
  ['LDRB_IMM', 0xf800, 0x7800],
  ['STRH_IMM', 0xf800, 0x8000],
  ['LDRH_IMM', 0xf800, 0x8800],
  ['STR_SP', 0xf800, 0x9000],
  ['LDR_SP', 0xf800, 0x9800],
  ['ADR', 0xf800, 0xa000],
  ['ADD_SP', 0xf800, 0xa800],
  ['SP_PLUS', 0xff80, 0xb000],
  ['SP_MINUS', 0xff80, 0xb080],
  ['SXTH', 0xffc0, 0xb200],
  ['SXTB', 0xffc0, 0xb240],
  ['UXTH', 0xffc0, 0xb280],
  ['UXTB', 0xffc0, 0xb2c0],
  ['PUSH', 0xfe00, 0xb400],
  ['POP', 0xfe00, 0xbc00],
  ['SEV', 0xffff, 0xbf40],
  ['STM', 0xf800, 0xc000],
  ['LDM', 0xf800, 0xc800],
  ['B_EQ', 0xff00, 0xd000],
  ['B_NE', 0xff00, 0xd100],
  ['B_CS', 0xff00, 0xd200],
  ['B_CC', 0xff00, 0xd300],
  ['B_MI', 0xff00, 0xd400],
  ['B_PL', 0xff00, 0xd500],
  ['B_VS', 0xff00, 0xd600],
  ['B_VC', 0xff00, 0xd700],
  ['B_HI', 0xff00, 0xd800],
  ['B_LS', 0xff00, 0xd900],
  ['B_GE', 0xff00, 0xda00],
  ['B_LT', 0xff00, 0xdb00],
  ['B_GT', 0xff00, 0xdc00],
  ['B_LE', 0xff00, 0xdd00],
  ['B', 0xf800, 0xe000],
  ['BL', 0xf800, 0xf000],
];

/** For each halfword the number of its instruction, from 1; 0 is left to rp2040js. */
const decoded = new Uint8Array(0x10000);
INSTRUCTIONS.forEach(([, mask, value], i) => {
  for (let op = 0; op < 0x10000; op++) if ((op & mask) === value) decoded[op] = i + 1;
});

export class Core extends CortexM0Core {
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

  /** In WFI or WFE: go on if there is a reason to. */
  wakeIfPending() {
    if (this.interruptsUpdated && this.checkForInterrupts()) this.waiting = false;
    if (this.eventRegistered) {
      this.eventRegistered = false;
      this.waiting = false;
    }
  }

  /** Execute one instruction; returns how many cycles it takes. */
  executeInstruction() {
    if (this.interruptsUpdated && this.checkForInterrupts()) this.waiting = false;
    const r = this.registers;
    const pc = r[15] & ~1;
    const op = this.readUint16(pc);
    const kind = decoded[op];
    if (kind === OTHER) return super.executeInstruction();
    r[15] = pc + 2;
    // fields of the most common forms
    const d = op & 7;
    const n = (op >>> 3) & 7;
    switch (kind) {
      case 1: {
        // LSL_IMM
        const by = (op >>> 6) & 31;
        const value = r[n];
        if (by) this.C = ((value >>> (32 - by)) & 1) === 1;
        r[d] = value << by;
        this.setNZ(r[d]);
        return 1;
      }
      case 2: {
        // LSR_IMM
        const by = (op >>> 6) & 31;
        const value = r[n];
        this.C = ((value >>> ((by || 32) - 1)) & 1) === 1;
        r[d] = by ? value >>> by : 0;
        this.setNZ(r[d]);
        return 1;
      }
      case 3: {
        // ASR_IMM
        const by = (op >>> 6) & 31 || 32;
        const value = r[n];
        this.C = ((value >> (by - 1)) & 1) === 1;
        r[d] = value >> Math.min(by, 31);
        this.setNZ(r[d]);
        return 1;
      }
      case 4: // ADD_REG
        r[d] = this.addWithCarry(r[n], r[(op >>> 6) & 7], 0);
        return 1;
      case 5: // SUB_REG
        r[d] = this.subtract(r[n], r[(op >>> 6) & 7]);
        return 1;
      case 6: // ADD_IMM3
        r[d] = this.addWithCarry(r[n], (op >>> 6) & 7, 0);
        return 1;
      case 7: // SUB_IMM3
        r[d] = this.subtract(r[n], (op >>> 6) & 7);
        return 1;
      case 8: // MOV_IMM
        r[(op >>> 8) & 7] = op & 255;
        this.setNZ(op & 255);
        return 1;
      case 9: // CMP_IMM
        this.subtract(r[(op >>> 8) & 7], op & 255);
        return 1;
      case 10: // ADD_IMM8
        r[(op >>> 8) & 7] = this.addWithCarry(r[(op >>> 8) & 7], op & 255, 0);
        return 1;
      case 11: // SUB_IMM8
        r[(op >>> 8) & 7] = this.subtract(r[(op >>> 8) & 7], op & 255);
        return 1;
      case 12: // AND
        this.setNZ((r[d] &= r[n]));
        return 1;
      case 13: // EOR
        this.setNZ((r[d] ^= r[n]));
        return 1;
      case 14: {
        // LSL_REG
        const by = r[n] & 255;
        const value = r[d];
        const carry = by <= 32 && ((value >>> (32 - by)) & 1) === 1;
        r[d] = this.shift(value, by, by < 32 ? value << by : 0, carry);
        return 1;
      }
      case 15: {
        // LSR_REG
        const by = r[n] & 255;
        const value = r[d];
        const carry = by <= 32 && ((value >>> (by - 1)) & 1) === 1;
        r[d] = this.shift(value, by, by < 32 ? value >>> by : 0, carry);
        return 1;
      }
      case 16: {
        // ASR_REG
        const by = r[n] & 255;
        const value = r[d];
        const carry = ((value >> (Math.min(by, 32) - 1)) & 1) === 1;
        r[d] = this.shift(value, by, value >> Math.min(by, 31), carry);
        return 1;
      }
      case 17: // ADC
        r[d] = this.addWithCarry(r[d], r[n], this.C ? 1 : 0);
        return 1;
      case 18: // SBC
        r[d] = this.addWithCarry(r[d], ~r[n] >>> 0, this.C ? 1 : 0);
        return 1;
      case 19: {
        // ROR
        const by = r[n] & 255;
        const value = r[d];
        const low = by & 31;
        const result = low ? (value >>> low) | (value << (32 - low)) : value;
        r[d] = this.shift(value, by, result, (result & 0x80000000) !== 0);
        return 1;
      }
      case 20: // TST
        this.setNZ(r[d] & r[n]);
        return 1;
      case 21: // RSB
        r[d] = this.subtract(0, r[n]);
        return 1;
      case 22: // CMP_REG
        this.subtract(r[d], r[n]);
        return 1;
      case 23: // ORR
        this.setNZ((r[d] |= r[n]));
        return 1;
      case 24: // MUL
        this.setNZ((r[d] = Math.imul(r[d], r[n])));
        return 1;
      case 25: // BIC
        this.setNZ((r[d] &= ~r[n]));
        return 1;
      case 26: // MVN
        this.setNZ((r[d] = ~r[n]));
        return 1;
      case 27: {
        // ADD_HIGH
        const target = d | ((op >>> 4) & 8);
        const m = (op >>> 3) & 15;
        const value = (m === 15 ? pc + 4 : r[m]) + (target === 15 ? pc + 4 : r[target]);
        if (target === 15) {
          r[15] = value & ~1;
          return 2;
        }
        r[target] = target === 13 ? value & ~3 : value;
        return 1;
      }
      case 28: // CMP_HIGH
        this.subtract(r[d | ((op >>> 4) & 8)], r[(op >>> 3) & 15]);
        return 1;
      case 29: {
        // MOV_HIGH
        const target = d | ((op >>> 4) & 8);
        const m = (op >>> 3) & 15;
        const value = m === 15 ? pc + 4 : r[m];
        if (target === 15) {
          r[15] = value & ~1;
          return 2;
        }
        r[target] = target === 13 ? value & ~3 : value;
        return 1;
      }
      case 30: // BX
        this.BXWritePC(r[(op >>> 3) & 15]);
        return 2;
      case 31: {
        // BLX
        const target = r[(op >>> 3) & 15] & ~1;
        r[14] = (pc + 2) | 1;
        r[15] = target;
        return 2;
      }
      case 32: {
        // LDR_LITERAL
        const address = (((pc + 4) & ~3) >>> 0) + ((op & 255) << 2);
        r[(op >>> 8) & 7] = this.readUint32(address);
        return 2;
      }
      case 33: {
        // STR_REG
        const address = r[n] + r[(op >>> 6) & 7];
        this.writeUint32(address, r[d]);
        return 1 + this.extraCycles(address, true);
      }
      case 34: {
        // STRH_REG
        const address = r[n] + r[(op >>> 6) & 7];
        this.writeUint16(address, r[d]);
        return 1 + this.extraCycles(address, true);
      }
      case 35: {
        // STRB_REG
        const address = r[n] + r[(op >>> 6) & 7];
        this.writeUint8(address, r[d]);
        return 1 + this.extraCycles(address, true);
      }
      case 36: {
        // LDRSB
        const address = r[n] + r[(op >>> 6) & 7];
        r[d] = (this.readUint8(address) << 24) >> 24;
        return 1 + this.extraCycles(address, false);
      }
      case 37: {
        // LDR_REG
        const address = r[n] + r[(op >>> 6) & 7];
        r[d] = this.readUint32(address);
        return 1 + this.extraCycles(address, false);
      }
      case 38: {
        // LDRH_REG
        const address = r[n] + r[(op >>> 6) & 7];
        r[d] = this.readUint16(address);
        return 1 + this.extraCycles(address, false);
      }
      case 39: {
        // LDRB_REG
        const address = r[n] + r[(op >>> 6) & 7];
        r[d] = this.readUint8(address);
        return 1 + this.extraCycles(address, false);
      }
      case 40: {
        // LDRSH
        const address = r[n] + r[(op >>> 6) & 7];
        r[d] = (this.readUint16(address) << 16) >> 16;
        return 1 + this.extraCycles(address, false);
      }
      case 41: {
        // STR_IMM
        const address = r[n] + ((op >>> 4) & 0x7c);
        this.writeUint32(address, r[d]);
        return 1 + this.extraCycles(address, true);
      }
      case 42: {
        // LDR_IMM
        const address = r[n] + ((op >>> 4) & 0x7c);
        r[d] = this.readUint32(address);
        return 1 + this.extraCycles(address, false);
      }
      case 43: {
        // STRB_IMM
        const address = r[n] + ((op >>> 6) & 31);
        this.writeUint8(address, r[d]);
        return 1 + this.extraCycles(address, true);
      }
      case 44: {
        // LDRB_IMM
        const address = r[n] + ((op >>> 6) & 31);
        r[d] = this.readUint8(address);
        return 1 + this.extraCycles(address, false);
      }
      case 45: {
        // STRH_IMM
        const address = r[n] + ((op >>> 5) & 0x3e);
        this.writeUint16(address, r[d]);
        return 1 + this.extraCycles(address, true);
      }
      case 46: {
        // LDRH_IMM
        const address = r[n] + ((op >>> 5) & 0x3e);
        r[d] = this.readUint16(address);
        return 1 + this.extraCycles(address, false);
      }
      case 47: {
        // STR_SP
        const address = r[13] + ((op & 255) << 2);
        this.writeUint32(address, r[(op >>> 8) & 7]);
        return 1 + this.extraCycles(address, true);
      }
      case 48: {
        // LDR_SP
        const address = r[13] + ((op & 255) << 2);
        r[(op >>> 8) & 7] = this.readUint32(address);
        return 1 + this.extraCycles(address, false);
      }
      case 49: // ADR
        r[(op >>> 8) & 7] = ((pc + 4) & ~3) + ((op & 255) << 2);
        return 1;
      case 50: // ADD_SP
        r[(op >>> 8) & 7] = r[13] + ((op & 255) << 2);
        return 1;
      case 51: // SP_PLUS
        r[13] += (op & 127) << 2;
        return 1;
      case 52: // SP_MINUS
        r[13] -= (op & 127) << 2;
        return 1;
      case 53: // SXTH
        r[d] = (r[n] << 16) >> 16;
        return 1;
      case 54: // SXTB
        r[d] = (r[n] << 24) >> 24;
        return 1;
      case 55: // UXTH
        r[d] = r[n] & 0xffff;
        return 1;
      case 56: // UXTB
        r[d] = r[n] & 0xff;
        return 1;
      case 57: {
        // PUSH
        let address = r[13];
        let cycles = 1;
        if (op & 0x100) {
          address -= 4;
          this.writeUint32(address, r[14]);
        }
        for (let i = 7; i >= 0; i--) {
          if (op & (1 << i)) {
            address -= 4;
            this.writeUint32(address, r[i]);
            cycles++;
          }
        }
        r[13] = address;
        return cycles;
      }
      case 58: {
        // POP
        let address = r[13];
        let cycles = 1;
        for (let i = 0; i < 8; i++) {
          if (op & (1 << i)) {
            r[i] = this.readUint32(address);
            address += 4;
            cycles++;
          }
        }
        if (op & 0x100) {
          r[13] = address + 4;
          this.BXWritePC(this.readUint32(address));
          return cycles + 2;
        }
        r[13] = address;
        return cycles;
      }
      case 59: // SEV
        this.eventRegistered = true;
        return 1;
      case 60: {
        // STM
        const base = (op >>> 8) & 7;
        let address = r[base];
        let cycles = 1;
        for (let i = 0; i < 8; i++) {
          if (op & (1 << i)) {
            this.writeUint32(address, r[i]);
            address += 4;
            cycles++;
          }
        }
        r[base] = address;
        return cycles;
      }
      case 61: {
        // LDM
        const base = (op >>> 8) & 7;
        let address = r[base];
        let cycles = 1;
        for (let i = 0; i < 8; i++) {
          if (op & (1 << i)) {
            r[i] = this.readUint32(address);
            address += 4;
            cycles++;
          }
        }
        if (!(op & (1 << base))) r[base] = address;
        return cycles;
      }
      case 62: // B_EQ
        return this.branchIf(this.Z, op);
      case 63: // B_NE
        return this.branchIf(!this.Z, op);
      case 64: // B_CS
        return this.branchIf(this.C, op);
      case 65: // B_CC
        return this.branchIf(!this.C, op);
      case 66: // B_MI
        return this.branchIf(this.N, op);
      case 67: // B_PL
        return this.branchIf(!this.N, op);
      case 68: // B_VS
        return this.branchIf(this.V, op);
      case 69: // B_VC
        return this.branchIf(!this.V, op);
      case 70: // B_HI
        return this.branchIf(this.C && !this.Z, op);
      case 71: // B_LS
        return this.branchIf(!this.C || this.Z, op);
      case 72: // B_GE
        return this.branchIf(this.N === this.V, op);
      case 73: // B_LT
        return this.branchIf(this.N !== this.V, op);
      case 74: // B_GT
        return this.branchIf(!this.Z && this.N === this.V, op);
      case 75: // B_LE
        return this.branchIf(this.Z || this.N !== this.V, op);
      case 76: // B
        return this.branch((op << 21) >> 20);
      default: {
        // BL, or another wide instruction
        const second = this.readUint16(pc + 2);
        if ((second & 0xd000) !== 0xd000) {
          r[15] = pc;
          return super.executeInstruction();
        }
        const sign = (op >>> 10) & 1;
        const i1 = 1 - (sign ^ ((second >>> 13) & 1));
        const i2 = 1 - (sign ^ ((second >>> 11) & 1));
        const high = (sign ? 0xff000000 : 0) | (i1 << 23) | (i2 << 22) | 0;
        const offset = high | ((op & 0x3ff) << 12) | ((second & 0x7ff) << 1);
        r[14] = (pc + 4) | 1;
        r[15] = pc + 4 + offset;
        return 3;
      }
    }
  }
}
