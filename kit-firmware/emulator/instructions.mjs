// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: MIT

/**
 * The instructions of ARMv6-M, one table: [name, mask, value, execute], in the words of the manual.
 *
 * `execute(core, op, pc)` is called with the program counter behind the halfword `op` at `pc`, and
 * returns how many cycles it takes. What stands in no row is left to rp2040js.
 */

const row = (name, mask, value, execute) => [name, mask, value, execute];

export const INSTRUCTIONS = [
  row('LSL_IMM', 0xf800, 0x0000, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const by = (op >>> 6) & 31;
    const value = r[n];
    if (by) core.C = ((value >>> (32 - by)) & 1) === 1;
    r[d] = value << by;
    core.setNZ(r[d]);
    return 1;
  }),
  row('LSR_IMM', 0xf800, 0x0800, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const by = (op >>> 6) & 31;
    const value = r[n];
    core.C = ((value >>> ((by || 32) - 1)) & 1) === 1;
    r[d] = by ? value >>> by : 0;
    core.setNZ(r[d]);
    return 1;
  }),
  row('ASR_IMM', 0xf800, 0x1000, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const by = (op >>> 6) & 31 || 32;
    const value = r[n];
    core.C = ((value >> (by - 1)) & 1) === 1;
    r[d] = value >> Math.min(by, 31);
    core.setNZ(r[d]);
    return 1;
  }),
  row('ADD_REG', 0xfe00, 0x1800, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    r[d] = core.addWithCarry(r[n], r[(op >>> 6) & 7], 0);
    return 1;
  }),
  row('SUB_REG', 0xfe00, 0x1a00, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    r[d] = core.subtract(r[n], r[(op >>> 6) & 7]);
    return 1;
  }),
  row('ADD_IMM3', 0xfe00, 0x1c00, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    r[d] = core.addWithCarry(r[n], (op >>> 6) & 7, 0);
    return 1;
  }),
  row('SUB_IMM3', 0xfe00, 0x1e00, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    r[d] = core.subtract(r[n], (op >>> 6) & 7);
    return 1;
  }),
  row('MOV_IMM', 0xf800, 0x2000, (core, op) => {
    const r = core.registers;
    r[(op >>> 8) & 7] = op & 255;
    core.setNZ(op & 255);
    return 1;
  }),
  row('CMP_IMM', 0xf800, 0x2800, (core, op) => {
    const r = core.registers;
    core.subtract(r[(op >>> 8) & 7], op & 255);
    return 1;
  }),
  row('ADD_IMM8', 0xf800, 0x3000, (core, op) => {
    const r = core.registers;
    r[(op >>> 8) & 7] = core.addWithCarry(r[(op >>> 8) & 7], op & 255, 0);
    return 1;
  }),
  row('SUB_IMM8', 0xf800, 0x3800, (core, op) => {
    const r = core.registers;
    r[(op >>> 8) & 7] = core.subtract(r[(op >>> 8) & 7], op & 255);
    return 1;
  }),
  row('AND', 0xffc0, 0x4000, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    core.setNZ((r[d] &= r[n]));
    return 1;
  }),
  row('EOR', 0xffc0, 0x4040, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    core.setNZ((r[d] ^= r[n]));
    return 1;
  }),
  row('LSL_REG', 0xffc0, 0x4080, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const by = r[n] & 255;
    const value = r[d];
    const carry = by <= 32 && ((value >>> (32 - by)) & 1) === 1;
    r[d] = core.shift(value, by, by < 32 ? value << by : 0, carry);
    return 1;
  }),
  row('LSR_REG', 0xffc0, 0x40c0, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const by = r[n] & 255;
    const value = r[d];
    const carry = by <= 32 && ((value >>> (by - 1)) & 1) === 1;
    r[d] = core.shift(value, by, by < 32 ? value >>> by : 0, carry);
    return 1;
  }),
  row('ASR_REG', 0xffc0, 0x4100, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const by = r[n] & 255;
    const value = r[d];
    const carry = ((value >> (Math.min(by, 32) - 1)) & 1) === 1;
    r[d] = core.shift(value, by, value >> Math.min(by, 31), carry);
    return 1;
  }),
  row('ADC', 0xffc0, 0x4140, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    r[d] = core.addWithCarry(r[d], r[n], core.C ? 1 : 0);
    return 1;
  }),
  row('SBC', 0xffc0, 0x4180, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    r[d] = core.addWithCarry(r[d], ~r[n] >>> 0, core.C ? 1 : 0);
    return 1;
  }),
  row('ROR', 0xffc0, 0x41c0, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const by = r[n] & 255;
    const value = r[d];
    const low = by & 31;
    const result = low ? (value >>> low) | (value << (32 - low)) : value;
    r[d] = core.shift(value, by, result, (result & 0x80000000) !== 0);
    return 1;
  }),
  row('TST', 0xffc0, 0x4200, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    core.setNZ(r[d] & r[n]);
    return 1;
  }),
  row('RSB', 0xffc0, 0x4240, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    r[d] = core.subtract(0, r[n]);
    return 1;
  }),
  row('CMP_REG', 0xffc0, 0x4280, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    core.subtract(r[d], r[n]);
    return 1;
  }),
  row('ORR', 0xffc0, 0x4300, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    core.setNZ((r[d] |= r[n]));
    return 1;
  }),
  row('MUL', 0xffc0, 0x4340, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    core.setNZ((r[d] = Math.imul(r[d], r[n])));
    return 1;
  }),
  row('BIC', 0xffc0, 0x4380, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    core.setNZ((r[d] &= ~r[n]));
    return 1;
  }),
  row('MVN', 0xffc0, 0x43c0, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    core.setNZ((r[d] = ~r[n]));
    return 1;
  }),
  row('ADD_HIGH', 0xff00, 0x4400, (core, op, pc) => {
    const r = core.registers;
    const d = op & 7;
    const target = d | ((op >>> 4) & 8);
    const m = (op >>> 3) & 15;
    const value = (m === 15 ? pc + 4 : r[m]) + (target === 15 ? pc + 4 : r[target]);
    if (target === 15) {
      r[15] = value & ~1;
      return 2;
    }
    r[target] = target === 13 ? value & ~3 : value;
    return 1;
  }),
  row('CMP_HIGH', 0xff00, 0x4500, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    core.subtract(r[d | ((op >>> 4) & 8)], r[(op >>> 3) & 15]);
    return 1;
  }),
  row('MOV_HIGH', 0xff00, 0x4600, (core, op, pc) => {
    const r = core.registers;
    const d = op & 7;
    const target = d | ((op >>> 4) & 8);
    const m = (op >>> 3) & 15;
    const value = m === 15 ? pc + 4 : r[m];
    if (target === 15) {
      r[15] = value & ~1;
      return 2;
    }
    r[target] = target === 13 ? value & ~3 : value;
    return 1;
  }),
  row('BX', 0xff87, 0x4700, (core, op) => {
    const r = core.registers;
    core.BXWritePC(r[(op >>> 3) & 15]);
    return 2;
  }),
  row('BLX', 0xff87, 0x4780, (core, op, pc) => {
    const r = core.registers;
    const target = r[(op >>> 3) & 15] & ~1;
    r[14] = (pc + 2) | 1;
    r[15] = target;
    return 2;
  }),
  row('LDR_LITERAL', 0xf800, 0x4800, (core, op, pc) => {
    const r = core.registers;
    const address = (((pc + 4) & ~3) >>> 0) + ((op & 255) << 2);
    r[(op >>> 8) & 7] = core.readUint32(address);
    return 2;
  }),
  row('STR_REG', 0xfe00, 0x5000, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const address = r[n] + r[(op >>> 6) & 7];
    core.writeUint32(address, r[d]);
    return 1 + core.extraCycles(address, true);
  }),
  row('STRH_REG', 0xfe00, 0x5200, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const address = r[n] + r[(op >>> 6) & 7];
    core.writeUint16(address, r[d]);
    return 1 + core.extraCycles(address, true);
  }),
  row('STRB_REG', 0xfe00, 0x5400, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const address = r[n] + r[(op >>> 6) & 7];
    core.writeUint8(address, r[d]);
    return 1 + core.extraCycles(address, true);
  }),
  row('LDRSB', 0xfe00, 0x5600, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const address = r[n] + r[(op >>> 6) & 7];
    r[d] = (core.readUint8(address) << 24) >> 24;
    return 1 + core.extraCycles(address, false);
  }),
  row('LDR_REG', 0xfe00, 0x5800, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const address = r[n] + r[(op >>> 6) & 7];
    r[d] = core.readUint32(address);
    return 1 + core.extraCycles(address, false);
  }),
  row('LDRH_REG', 0xfe00, 0x5a00, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const address = r[n] + r[(op >>> 6) & 7];
    r[d] = core.readUint16(address);
    return 1 + core.extraCycles(address, false);
  }),
  row('LDRB_REG', 0xfe00, 0x5c00, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const address = r[n] + r[(op >>> 6) & 7];
    r[d] = core.readUint8(address);
    return 1 + core.extraCycles(address, false);
  }),
  row('LDRSH', 0xfe00, 0x5e00, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const address = r[n] + r[(op >>> 6) & 7];
    r[d] = (core.readUint16(address) << 16) >> 16;
    return 1 + core.extraCycles(address, false);
  }),
  row('STR_IMM', 0xf800, 0x6000, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const address = r[n] + ((op >>> 4) & 0x7c);
    core.writeUint32(address, r[d]);
    return 1 + core.extraCycles(address, true);
  }),
  row('LDR_IMM', 0xf800, 0x6800, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const address = r[n] + ((op >>> 4) & 0x7c);
    r[d] = core.readUint32(address);
    return 1 + core.extraCycles(address, false);
  }),
  row('STRB_IMM', 0xf800, 0x7000, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const address = r[n] + ((op >>> 6) & 31);
    core.writeUint8(address, r[d]);
    return 1 + core.extraCycles(address, true);
  }),
  row('LDRB_IMM', 0xf800, 0x7800, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const address = r[n] + ((op >>> 6) & 31);
    r[d] = core.readUint8(address);
    return 1 + core.extraCycles(address, false);
  }),
  row('STRH_IMM', 0xf800, 0x8000, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const address = r[n] + ((op >>> 5) & 0x3e);
    core.writeUint16(address, r[d]);
    return 1 + core.extraCycles(address, true);
  }),
  row('LDRH_IMM', 0xf800, 0x8800, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    const address = r[n] + ((op >>> 5) & 0x3e);
    r[d] = core.readUint16(address);
    return 1 + core.extraCycles(address, false);
  }),
  row('STR_SP', 0xf800, 0x9000, (core, op) => {
    const r = core.registers;
    const address = r[13] + ((op & 255) << 2);
    core.writeUint32(address, r[(op >>> 8) & 7]);
    return 1 + core.extraCycles(address, true);
  }),
  row('LDR_SP', 0xf800, 0x9800, (core, op) => {
    const r = core.registers;
    const address = r[13] + ((op & 255) << 2);
    r[(op >>> 8) & 7] = core.readUint32(address);
    return 1 + core.extraCycles(address, false);
  }),
  row('ADR', 0xf800, 0xa000, (core, op, pc) => {
    const r = core.registers;
    r[(op >>> 8) & 7] = ((pc + 4) & ~3) + ((op & 255) << 2);
    return 1;
  }),
  row('ADD_SP', 0xf800, 0xa800, (core, op) => {
    const r = core.registers;
    r[(op >>> 8) & 7] = r[13] + ((op & 255) << 2);
    return 1;
  }),
  row('SP_PLUS', 0xff80, 0xb000, (core, op) => {
    const r = core.registers;
    r[13] += (op & 127) << 2;
    return 1;
  }),
  row('SP_MINUS', 0xff80, 0xb080, (core, op) => {
    const r = core.registers;
    r[13] -= (op & 127) << 2;
    return 1;
  }),
  row('SXTH', 0xffc0, 0xb200, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    r[d] = (r[n] << 16) >> 16;
    return 1;
  }),
  row('SXTB', 0xffc0, 0xb240, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    r[d] = (r[n] << 24) >> 24;
    return 1;
  }),
  row('UXTH', 0xffc0, 0xb280, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    r[d] = r[n] & 0xffff;
    return 1;
  }),
  row('UXTB', 0xffc0, 0xb2c0, (core, op) => {
    const r = core.registers;
    const d = op & 7;
    const n = (op >>> 3) & 7;
    r[d] = r[n] & 0xff;
    return 1;
  }),
  row('PUSH', 0xfe00, 0xb400, (core, op) => {
    const r = core.registers;
    let address = r[13];
    let cycles = 1;
    if (op & 0x100) {
      address -= 4;
      core.writeUint32(address, r[14]);
    }
    for (let i = 7; i >= 0; i--) {
      if (op & (1 << i)) {
        address -= 4;
        core.writeUint32(address, r[i]);
        cycles++;
      }
    }
    r[13] = address;
    return cycles;
  }),
  row('POP', 0xfe00, 0xbc00, (core, op) => {
    const r = core.registers;
    let address = r[13];
    let cycles = 1;
    for (let i = 0; i < 8; i++) {
      if (op & (1 << i)) {
        r[i] = core.readUint32(address);
        address += 4;
        cycles++;
      }
    }
    if (op & 0x100) {
      r[13] = address + 4;
      core.BXWritePC(core.readUint32(address));
      return cycles + 2;
    }
    r[13] = address;
    return cycles;
  }),
  row('SEV', 0xffff, 0xbf40, (core) => {
    core.eventRegistered = true;
    return 1;
  }),
  row('STM', 0xf800, 0xc000, (core, op) => {
    const r = core.registers;
    const base = (op >>> 8) & 7;
    let address = r[base];
    let cycles = 1;
    for (let i = 0; i < 8; i++) {
      if (op & (1 << i)) {
        core.writeUint32(address, r[i]);
        address += 4;
        cycles++;
      }
    }
    r[base] = address;
    return cycles;
  }),
  row('LDM', 0xf800, 0xc800, (core, op) => {
    const r = core.registers;
    const base = (op >>> 8) & 7;
    let address = r[base];
    let cycles = 1;
    for (let i = 0; i < 8; i++) {
      if (op & (1 << i)) {
        r[i] = core.readUint32(address);
        address += 4;
        cycles++;
      }
    }
    if (!(op & (1 << base))) r[base] = address;
    return cycles;
  }),
  row('B_EQ', 0xff00, 0xd000, (core, op) => core.branchIf(core.Z, op)),
  row('B_NE', 0xff00, 0xd100, (core, op) => core.branchIf(!core.Z, op)),
  row('B_CS', 0xff00, 0xd200, (core, op) => core.branchIf(core.C, op)),
  row('B_CC', 0xff00, 0xd300, (core, op) => core.branchIf(!core.C, op)),
  row('B_MI', 0xff00, 0xd400, (core, op) => core.branchIf(core.N, op)),
  row('B_PL', 0xff00, 0xd500, (core, op) => core.branchIf(!core.N, op)),
  row('B_VS', 0xff00, 0xd600, (core, op) => core.branchIf(core.V, op)),
  row('B_VC', 0xff00, 0xd700, (core, op) => core.branchIf(!core.V, op)),
  row('B_HI', 0xff00, 0xd800, (core, op) => core.branchIf(core.C && !core.Z, op)),
  row('B_LS', 0xff00, 0xd900, (core, op) => core.branchIf(!core.C || core.Z, op)),
  row('B_GE', 0xff00, 0xda00, (core, op) => core.branchIf(core.N === core.V, op)),
  row('B_LT', 0xff00, 0xdb00, (core, op) => core.branchIf(core.N !== core.V, op)),
  row('B_GT', 0xff00, 0xdc00, (core, op) => core.branchIf(!core.Z && core.N === core.V, op)),
  row('B_LE', 0xff00, 0xdd00, (core, op) => core.branchIf(core.Z || core.N !== core.V, op)),
  row('B', 0xf800, 0xe000, (core, op) => core.branch((op << 21) >> 20)),
  row('BL', 0xf800, 0xf000, (core, op, pc) => {
    const r = core.registers;
    const second = core.readUint16(pc + 2);
    if ((second & 0xd000) !== 0xd000) {
      // another wide instruction
      r[15] = pc;
      return core.executeRare();
    }
    const sign = (op >>> 10) & 1;
    const i1 = 1 - (sign ^ ((second >>> 13) & 1));
    const i2 = 1 - (sign ^ ((second >>> 11) & 1));
    const high = (sign ? 0xff000000 : 0) | (i1 << 23) | (i2 << 22) | 0;
    const offset = high | ((op & 0x3ff) << 12) | ((second & 0x7ff) << 1);
    r[14] = (pc + 4) | 1;
    r[15] = pc + 4 + offset;
    return 3;
  }),
];
