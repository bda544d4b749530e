// Finds out whether a process in another container is alive: the process listens on a socket in a shared folder. While
// it lives, even busy or stopped, the kernel accepts connections to the socket; afterwards it refuses them. The process
// need not answer.
//
// Invariant: a process whose socket cannot be tried counts as alive. This works on Linux only, and between processes of
// one kernel: for another kernel, every socket looks dead.

import { closeSync, openSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';

/** Listens until the result is called; returns undefined if the file system or the platform has no sockets. */
export async function listenIn(folder: string, name: string): Promise<(() => void) | undefined> {
  if (process.platform !== 'linux') return undefined;
  const server = createServer((socket) => void socket.destroy()).unref();
  const descriptor = openSync(folder, 'r');
  let hasEnded = false;
  const end = () => {
    if (hasEnded) return;
    hasEnded = true;
    server.close(); // `close` also unlinks the socket by its path, which needs the descriptor.
    rmSync(join(folder, name), { force: true });
    closeSync(descriptor);
  };
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      // Exclusive: in a cluster, the primary process would listen for its workers.
      server.listen({ path: shortPath(descriptor, name), exclusive: true }, resolve);
    });
    server.on('error', () => {}); // Ignore an error of a connection: the connection is refused then.
    if (await isListening(folder, name)) return end;
  } catch {
    // The file system has no sockets.
  }
  end();
  return undefined;
}

/** Returns false if the process that listened on this kernel has ended. */
export async function isListening(folder: string, name: string): Promise<boolean> {
  const descriptor = openSync(folder, 'r');
  try {
    return await new Promise<boolean>((resolve) => {
      const socket = connect(shortPath(descriptor, name));
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', ({ code }: NodeJS.ErrnoException) => {
        resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT');
      });
    });
  } finally {
    closeSync(descriptor);
  }
}

// Returns a short path to the socket through the folder's descriptor, because a socket's path may have at most 107
// bytes.
function shortPath(descriptor: number, name: string): string {
  return `/proc/self/fd/${descriptor}/${name}`;
}
