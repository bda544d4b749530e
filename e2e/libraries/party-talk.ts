// A talk in a party room, step by step, and what was heard: the same code beside both engines.

interface Socket {
  accept(): void;
  send(text: string): void;
  close(code: number): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
}

/** Asks the room: `fetch` of its stub, or of what routes to it. */
export type Ask = (
  url: string,
  init?: { readonly headers: Readonly<Record<string, string>> },
) => Promise<{ readonly webSocket?: unknown; json(): Promise<unknown> }>;

const ADDRESS = 'http://libraries/Party/room';

export async function talk(ask: Ask): Promise<{ logs: string[][]; here: unknown }> {
  const logs: string[][] = [[], []];
  const [atOne, atTwo] = logs as [string[], string[]];
  const join = async (log: string[]) => {
    const { webSocket } = await ask(ADDRESS, { headers: { Upgrade: 'websocket' } });
    if (!webSocket) throw new Error('The answer has no socket.');
    const socket = webSocket as Socket;
    socket.addEventListener('message', ({ data }) => log.push(String(data)));
    socket.accept();
    await until(log, 1);
    return socket;
  };
  const one = await join(atOne);
  const two = await join(atTwo);
  await until(atOne, 2);
  one.send('hello');
  await until(atTwo, 2);
  one.send('again');
  await until(atTwo, 3);
  two.send('mine');
  await until(atOne, 5);
  const here = await (await ask(ADDRESS)).json();
  two.close(4001);
  await until(atOne, 6);
  return { logs, here };
}

async function until(log: readonly string[], count: number): Promise<void> {
  while (log.length < count) await new Promise((resolve) => setTimeout(resolve, 10));
}
