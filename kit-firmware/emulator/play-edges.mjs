// SPDX-FileCopyrightText: The Tennis authors
// SPDX-License-Identifier: MIT

/**
 * Plays edges to PIO programs and says what they push: for a second opinion by another emulator.
 *
 * Standard input: a JSON list of {program, wrap_target, wrap_top, start, x, edges, cycles}: the
 * opcodes, the first instruction, the counter at the start, the cycles in which pad 0 changes (from
 * 0), the cycles to run. Autopush at 32 bits, no synchroniser. Standard output: a list of the lists of words.
 */
import { readFileSync } from 'node:fs';
import { Fabric } from './fabric.mjs';

const SHIFTCTRL_AUTOPUSH_LEFT = 0x00010000;
const EXECCTRL_JMP_PIN_0 = 0;

function play({ program, wrap_target, wrap_top, start, x, edges, cycles }) {
  const fabric = new Fabric();
  const [block] = fabric.pio;
  const [machine] = block.machines;
  block.instructions.set(program);
  block.bypass = 1;
  machine.setShiftctrl(SHIFTCTRL_AUTOPUSH_LEFT);
  machine.setExecctrl(EXECCTRL_JMP_PIN_0 | (wrap_top << 12) | (wrap_target << 7));
  machine.pc = start;
  machine.x = x;
  machine.setEnabled(true, 0);
  block.reschedule();
  const words = [];
  // a reader that takes every word at once
  block.onFifo = () => words.push(machine.rx.pull());
  edges.forEach((cycle, i) => fabric.at(cycle, () => fabric.drive(0, (i + 1) & 1)));
  fabric.reschedule();
  fabric.advance(cycles);
  return words;
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(play)));
