/**
 * The USB serial ports of boards on loopback TCP ports.
 *
 * A client is the cable put in (and the port opened), its end the cable pulled. Emulated time stays
 * at or below wall time unless `fast`. While the client does not read, the board hears NAK.
 */
import net from 'node:net';

const SLICE_MS = 2;

/** A server of a board's serial port. @param {import('./board.mjs').Board} board */
function serialServer(board) {
  let client = null;
  board.onSerial = (data) => {
    if (!client) return;
    if (!client.write(Buffer.from(data))) board.usb.setTaking(false);
  };
  board.setOpen(false);
  return net.createServer((socket) => {
    client?.destroy();
    client = socket;
    socket.setNoDelay(true);
    board.usb.setTaking(true);
    board.setOpen(true);
    socket.on('data', (data) => board.send(data));
    socket.on('drain', () => {
      if (socket === client) board.usb.setTaking(true);
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      if (socket !== client) return;
      client = null;
      board.setOpen(false);
      // what the device still sends goes nowhere
      board.usb.setTaking(true);
    });
  });
}

/** A server that says how far a board is: seconds as a double for every byte that comes. */
function clockServer(board) {
  return net.createServer((socket) => {
    socket.setNoDelay(true);
    socket.on('data', (data) => {
      const answer = Buffer.alloc(8);
      answer.writeDoubleLE(board.emulated_s);
      for (let n = 0; n < data.length; n++) socket.write(answer);
    });
    socket.on('error', () => {});
  });
}

/**
 * @param {import('./board.mjs').Board[]} boards the first one is paced by the wall's clock
 * @param {object} options
 * @param {number[]} options.ports of each board's serial port and its clock; 0 or missing: any
 * @param {(limit: number) => void} options.run brings all boards to a cycle of the first one's
 * @param {boolean} options.fast
 * @param {(error: Error) => void} options.onError
 */
export function serveTcp(boards, { ports, run, fast, onError }) {
  const servers = boards.flatMap((board) => [serialServer(board), clockServer(board)]);
  const opened = servers.map(
    (server, i) =>
      new Promise((resolve) => {
        server.on('error', onError);
        server.listen(ports[i] ?? 0, '127.0.0.1', () => resolve(server.address().port));
      }),
  );
  Promise.all(opened).then((open) =>
    console.log(open.map((port, i) => `${i % 2 ? 'clock' : 'port'} ${port}`).join(' ')),
  );

  const [board] = boards;
  // wall time passes for the board from here on; where it cannot keep up, it is late for good
  let due_ms = performance.now();
  const tick = () => {
    const now_ms = performance.now();
    try {
      // at most a slice at once, so that the socket is served
      const until_ms = fast ? now_ms + SLICE_MS : Math.min(now_ms, due_ms + SLICE_MS);
      const run_ms = fast ? SLICE_MS : until_ms - due_ms;
      if (run_ms > 0) run(board.cycle + (run_ms * board.clk_sys) / 1000);
      due_ms = until_ms;
      // after a pause (a suspended machine) do not race through the time lost
      if (now_ms - due_ms > 1000) due_ms = now_ms;
    } catch (error) {
      onError(error);
      return;
    }
    if (fast || due_ms < now_ms) setImmediate(tick);
    else setTimeout(tick, 1);
  };
  tick();
}
