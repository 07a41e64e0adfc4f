// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: MIT

/**
 * The instructions of ARMv6-M, one table: [name, mask, value, execute], in the words of the manual.
 *
 * `execute(core, op, pc)` is called with the program counter behind the halfword `op` at `pc`, and
 * returns how many cycles it takes. What stands in no row is left to rp2040js.
 */

const row = (name, mask, value, execute) => [name, mask, value, execute];

// operands: the registers that bits 0, 3, 6 and 8 name, and any of 16 from bit 3 on
const d = (core, op) => core.registers[op & 7];
const n = (core, op) => core.registers[(op >>> 3) & 7];
const m = (core, op) => core.registers[(op >>> 6) & 7];
const t = (core, op) => core.registers[(op >>> 8) & 7];
const any = (core, op) => core.registers[(op >>> 3) & 15];
const imm5 = (op) => (op >>> 6) & 31;
const imm8 = (op) => op & 255;
const words = (op) => (op & 255) << 2;
const stack = (core, op) => core.registers[13] + words(op);
const carry = (core) => (core.C ? 1 : 0);

// results, with the cycles that they take: with flags, without, and without any register
const put = (core, to, value) => {
  core.registers[to] = value;
  return 1;
};
const putNZ = (core, to, value) => {
  core.registers[to] = value;
  return flags(core, value);
};
const flags = (core, value) => {
  core.setNZ(value);
  return 1;
};
const compare = (core, a, b) => {
  core.subtract(a, b);
  return 1;
};
const shiftImm = (core, op, value, out) => {
  core.C = (out & 1) === 1;
  return putNZ(core, op & 7, value);
};
const shiftReg = (core, op, by, value, out) =>
  put(core, op & 7, core.shift(d(core, op), by, value, out));
const putHigh = (core, op, value) => {
  const target = (op & 7) | ((op >>> 4) & 8);
  if (target === 15) {
    core.registers[15] = value & ~1;
    return 2;
  }
  return put(core, target, target === 13 ? value & ~3 : value);
};
const high = (core, op, pc) => (((op >>> 3) & 15) === 15 ? pc + 4 : any(core, op));

const store32 = (core, address, value) => {
  core.writeUint32(address, value);
  return 1 + core.extraCycles(address, true);
};
const store16 = (core, address, value) => {
  core.writeUint16(address, value);
  return 1 + core.extraCycles(address, true);
};
const store8 = (core, address, value) => {
  core.writeUint8(address, value);
  return 1 + core.extraCycles(address, true);
};
const load32 = (core, to, address) => {
  core.registers[to] = core.readUint32(address);
  return 1 + core.extraCycles(address, false);
};
const load16 = (core, to, address, signs = 0) => {
  core.registers[to] = (core.readUint16(address) << signs) >> signs;
  return 1 + core.extraCycles(address, false);
};
const load8 = (core, to, address, signs = 0) => {
  core.registers[to] = (core.readUint8(address) << signs) >> signs;
  return 1 + core.extraCycles(address, false);
};

export const INSTRUCTIONS = [
  row('LSL_IMM', 0xf800, 0x0000, (core, op) => {
    const by = imm5(op);
    if (by) core.C = ((n(core, op) >>> (32 - by)) & 1) === 1;
    return putNZ(core, op & 7, n(core, op) << by);
  }),
  row('LSR_IMM', 0xf800, 0x0800, (core, op) => {
    const by = imm5(op);
    const value = n(core, op);
    return shiftImm(core, op, by ? value >>> by : 0, value >>> ((by || 32) - 1));
  }),
  row('ASR_IMM', 0xf800, 0x1000, (core, op) => {
    const by = imm5(op) || 32;
    const value = n(core, op);
    return shiftImm(core, op, value >> Math.min(by, 31), value >> (by - 1));
  }),
  row('ADD_REG', 0xfe00, 0x1800, (core, op) =>
    put(core, op & 7, core.addWithCarry(n(core, op), m(core, op), 0)),
  ),
  row('SUB_REG', 0xfe00, 0x1a00, (core, op) =>
    put(core, op & 7, core.subtract(n(core, op), m(core, op))),
  ),
  row('ADD_IMM3', 0xfe00, 0x1c00, (core, op) =>
    put(core, op & 7, core.addWithCarry(n(core, op), (op >>> 6) & 7, 0)),
  ),
  row('SUB_IMM3', 0xfe00, 0x1e00, (core, op) =>
    put(core, op & 7, core.subtract(n(core, op), (op >>> 6) & 7)),
  ),
  row('MOV_IMM', 0xf800, 0x2000, (core, op) => putNZ(core, (op >>> 8) & 7, imm8(op))),
  row('CMP_IMM', 0xf800, 0x2800, (core, op) => compare(core, t(core, op), imm8(op))),
  row('ADD_IMM8', 0xf800, 0x3000, (core, op) =>
    put(core, (op >>> 8) & 7, core.addWithCarry(t(core, op), imm8(op), 0)),
  ),
  row('SUB_IMM8', 0xf800, 0x3800, (core, op) =>
    put(core, (op >>> 8) & 7, core.subtract(t(core, op), imm8(op))),
  ),
  row('AND', 0xffc0, 0x4000, (core, op) => putNZ(core, op & 7, d(core, op) & n(core, op))),
  row('EOR', 0xffc0, 0x4040, (core, op) => putNZ(core, op & 7, d(core, op) ^ n(core, op))),
  row('LSL_REG', 0xffc0, 0x4080, (core, op) => {
    const by = n(core, op) & 255;
    const value = d(core, op);
    const out = by <= 32 && ((value >>> (32 - by)) & 1) === 1;
    return shiftReg(core, op, by, by < 32 ? value << by : 0, out);
  }),
  row('LSR_REG', 0xffc0, 0x40c0, (core, op) => {
    const by = n(core, op) & 255;
    const value = d(core, op);
    const out = by <= 32 && ((value >>> (by - 1)) & 1) === 1;
    return shiftReg(core, op, by, by < 32 ? value >>> by : 0, out);
  }),
  row('ASR_REG', 0xffc0, 0x4100, (core, op) => {
    const by = n(core, op) & 255;
    const value = d(core, op);
    const out = ((value >> (Math.min(by, 32) - 1)) & 1) === 1;
    return shiftReg(core, op, by, value >> Math.min(by, 31), out);
  }),
  row('ADC', 0xffc0, 0x4140, (core, op) =>
    put(core, op & 7, core.addWithCarry(d(core, op), n(core, op), carry(core))),
  ),
  row('SBC', 0xffc0, 0x4180, (core, op) =>
    put(core, op & 7, core.addWithCarry(d(core, op), ~n(core, op) >>> 0, carry(core))),
  ),
  row('ROR', 0xffc0, 0x41c0, (core, op) => {
    const by = n(core, op) & 255;
    const value = d(core, op);
    const low = by & 31;
    const result = low ? (value >>> low) | (value << (32 - low)) : value;
    return shiftReg(core, op, by, result, (result & 0x80000000) !== 0);
  }),
  row('TST', 0xffc0, 0x4200, (core, op) => flags(core, d(core, op) & n(core, op))),
  row('RSB', 0xffc0, 0x4240, (core, op) => put(core, op & 7, core.subtract(0, n(core, op)))),
  row('CMP_REG', 0xffc0, 0x4280, (core, op) => compare(core, d(core, op), n(core, op))),
  row('ORR', 0xffc0, 0x4300, (core, op) => putNZ(core, op & 7, d(core, op) | n(core, op))),
  row('MUL', 0xffc0, 0x4340, (core, op) =>
    putNZ(core, op & 7, Math.imul(d(core, op), n(core, op))),
  ),
  row('BIC', 0xffc0, 0x4380, (core, op) => putNZ(core, op & 7, d(core, op) & ~n(core, op))),
  row('MVN', 0xffc0, 0x43c0, (core, op) => putNZ(core, op & 7, ~n(core, op))),
  row('ADD_HIGH', 0xff00, 0x4400, (core, op, pc) => {
    const target = (op & 7) | ((op >>> 4) & 8);
    const value = target === 15 ? pc + 4 : core.registers[target];
    return putHigh(core, op, high(core, op, pc) + value);
  }),
  row('CMP_HIGH', 0xff00, 0x4500, (core, op) =>
    compare(core, core.registers[(op & 7) | ((op >>> 4) & 8)], any(core, op)),
  ),
  row('MOV_HIGH', 0xff00, 0x4600, (core, op, pc) => putHigh(core, op, high(core, op, pc))),
  row('BX', 0xff87, 0x4700, (core, op) => {
    core.BXWritePC(any(core, op));
    return 2;
  }),
  row('BLX', 0xff87, 0x4780, (core, op, pc) => {
    const target = any(core, op) & ~1;
    core.registers[14] = (pc + 2) | 1;
    core.registers[15] = target;
    return 2;
  }),
  row('LDR_LITERAL', 0xf800, 0x4800, (core, op, pc) => {
    const address = (((pc + 4) & ~3) >>> 0) + words(op);
    core.registers[(op >>> 8) & 7] = core.readUint32(address);
    return 2;
  }),
  row('STR_REG', 0xfe00, 0x5000, (core, op) =>
    store32(core, n(core, op) + m(core, op), d(core, op)),
  ),
  row('STRH_REG', 0xfe00, 0x5200, (core, op) =>
    store16(core, n(core, op) + m(core, op), d(core, op)),
  ),
  row('STRB_REG', 0xfe00, 0x5400, (core, op) =>
    store8(core, n(core, op) + m(core, op), d(core, op)),
  ),
  row('LDRSB', 0xfe00, 0x5600, (core, op) => load8(core, op & 7, n(core, op) + m(core, op), 24)),
  row('LDR_REG', 0xfe00, 0x5800, (core, op) => load32(core, op & 7, n(core, op) + m(core, op))),
  row('LDRH_REG', 0xfe00, 0x5a00, (core, op) => load16(core, op & 7, n(core, op) + m(core, op))),
  row('LDRB_REG', 0xfe00, 0x5c00, (core, op) => load8(core, op & 7, n(core, op) + m(core, op))),
  row('LDRSH', 0xfe00, 0x5e00, (core, op) => load16(core, op & 7, n(core, op) + m(core, op), 16)),
  row('STR_IMM', 0xf800, 0x6000, (core, op) =>
    store32(core, n(core, op) + ((op >>> 4) & 0x7c), d(core, op)),
  ),
  row('LDR_IMM', 0xf800, 0x6800, (core, op) =>
    load32(core, op & 7, n(core, op) + ((op >>> 4) & 0x7c)),
  ),
  row('STRB_IMM', 0xf800, 0x7000, (core, op) =>
    store8(core, n(core, op) + imm5(op), d(core, op)),
  ),
  row('LDRB_IMM', 0xf800, 0x7800, (core, op) => load8(core, op & 7, n(core, op) + imm5(op))),
  row('STRH_IMM', 0xf800, 0x8000, (core, op) =>
    store16(core, n(core, op) + ((op >>> 5) & 0x3e), d(core, op)),
  ),
  row('LDRH_IMM', 0xf800, 0x8800, (core, op) =>
    load16(core, op & 7, n(core, op) + ((op >>> 5) & 0x3e)),
  ),
  row('STR_SP', 0xf800, 0x9000, (core, op) => store32(core, stack(core, op), t(core, op))),
  row('LDR_SP', 0xf800, 0x9800, (core, op) => load32(core, (op >>> 8) & 7, stack(core, op))),
  row('ADR', 0xf800, 0xa000, (core, op, pc) =>
    put(core, (op >>> 8) & 7, ((pc + 4) & ~3) + words(op)),
  ),
  row('ADD_SP', 0xf800, 0xa800, (core, op) => put(core, (op >>> 8) & 7, stack(core, op))),
  row('SP_PLUS', 0xff80, 0xb000, (core, op) =>
    put(core, 13, core.registers[13] + ((op & 127) << 2)),
  ),
  row('SP_MINUS', 0xff80, 0xb080, (core, op) =>
    put(core, 13, core.registers[13] - ((op & 127) << 2)),
  ),
  row('SXTH', 0xffc0, 0xb200, (core, op) => put(core, op & 7, (n(core, op) << 16) >> 16)),
  row('SXTB', 0xffc0, 0xb240, (core, op) => put(core, op & 7, (n(core, op) << 24) >> 24)),
  row('UXTH', 0xffc0, 0xb280, (core, op) => put(core, op & 7, n(core, op) & 0xffff)),
  row('UXTB', 0xffc0, 0xb2c0, (core, op) => put(core, op & 7, n(core, op) & 0xff)),
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
