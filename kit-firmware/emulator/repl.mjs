/** MicroPython's raw REPL on an emulated board: execute code, put files. */
const CTRL_A = '\x01';
const CTRL_B = '\x02';
const CTRL_C = '\x03';
const CTRL_D = '\x04';

export class Repl {
  /** @param {import('./board.mjs').Board} board */
  constructor(board) {
    this.board = board;
    this.output = '';
    board.onSerial = (data) => {
      this.output += Buffer.from(data).toString('latin1');
      board.stop = true;
    };
  }

  /** Run until the output ends in a text; throws after some emulated seconds. */
  expect(ending, seconds = 20) {
    const { board } = this;
    const limit = board.cycle + seconds * board.clk_sys;
    while (!this.output.endsWith(ending)) {
      board.run(limit);
      if (board.cycle >= limit && !this.output.endsWith(ending)) {
        throw new Error(
          `no ${JSON.stringify(ending)} but ${JSON.stringify(this.output.slice(-300))}`,
        );
      }
    }
  }

  send(text) {
    this.board.send(Buffer.from(text, 'latin1'));
  }

  /** Wait until the board has booted, stop its main program and enter the raw REPL. */
  enter(seconds = 5) {
    const { board } = this;
    const limit = board.cycle + seconds * board.clk_sys;
    while (!board.usb.configured) {
      if (board.cycle >= limit) throw new Error('the board does not come up on USB');
      board.run(board.cycle + board.clk_sys / 1000);
    }
    this.send(`\r${CTRL_C}${CTRL_C}`);
    this.expect('>>> ', seconds);
    this.output = '';
    this.send(CTRL_A);
    this.expect('exit\r\n>', seconds);
  }

  /** Leave the raw REPL. */
  leave() {
    this.output = '';
    this.send(CTRL_B);
    this.expect('>>> ');
  }

  /** Execute code; returns what it prints, throws with the traceback if it raises. */
  exec(code, seconds = 20) {
    this.output = '';
    this.send(code + CTRL_D);
    this.expect(`${CTRL_D}>`, seconds);
    const answer = /^OK([^\x04]*)\x04([^\x04]*)\x04>$/s.exec(this.output);
    if (!answer) throw new Error(`no answer but ${JSON.stringify(this.output.slice(-300))}`);
    if (answer[2]) throw new Error(answer[2]);
    return answer[1].replaceAll('\r\n', '\n');
  }

  /** Write a file on the board. @param {Uint8Array} content */
  put(path, content) {
    this.exec(`f = open(${JSON.stringify(path)}, 'wb')`);
    for (let at = 0; at < content.length; at += 256) {
      const hex = Buffer.from(content.subarray(at, at + 256)).toString('hex');
      this.exec(`f.write(bytes.fromhex('${hex}'))`);
    }
    this.exec('f.close()');
  }
}
