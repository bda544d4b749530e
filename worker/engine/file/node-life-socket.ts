// A sign of life that the kernel gives across containers: a socket in a folder, on which its process
// listens. The kernel accepts connections to it as long as that process lives, also while it is busy or
// stopped, and refuses them from then on; nobody has to answer.
//
// Invariant: a process whose socket cannot be asked counts as alive. Linux only: elsewhere there is none.
//
// Does not know locks. It says nothing of processes of another kernel, to which every socket looks dead.

import { closeSync, openSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';

/** Listens until the result is called; undefined where the file system or the platform has no sockets. */
export async function listenIn(folder: string, name: string): Promise<(() => void) | undefined> {
  if (process.platform !== 'linux') return undefined;
  const server = createServer((socket) => void socket.destroy()).unref();
  const descriptor = openSync(folder, 'r');
  let hasEnded = false;
  const end = () => {
    if (hasEnded) return;
    hasEnded = true;
    server.close(); // unlinks the socket by its path, which needs the descriptor
    rmSync(join(folder, name), { force: true });
    closeSync(descriptor);
  };
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      // Exclusive: in a cluster, the primary process would listen for its workers.
      server.listen({ path: shortPath(descriptor, name), exclusive: true }, resolve);
    });
    server.on('error', () => {}); // of a connection, which is refused then
    if (await isListening(folder, name)) return end;
  } catch {
    // A file system without sockets.
  }
  end();
  return undefined;
}

/** False if the process that listened has ended, on this kernel. */
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

// A socket's path has 107 bytes at most.
function shortPath(descriptor: number, name: string): string {
  return `/proc/self/fd/${descriptor}/${name}`;
}
