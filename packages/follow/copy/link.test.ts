// Tests the connection of a copy with fake sockets and timers.

import { describe, expect, test } from 'vitest';
import { FollowLink, type LinkSocket } from './link.ts';
import type { Replica, ReplicaSocket } from './replica.ts';

/** Fake timers, which run when the test says so. */
class Timers {
  readonly set: { delayMs: number; task: () => void; keepsAlive: boolean }[] = [];

  readonly after = (delayMs: number, task: () => void, keepsAlive: boolean) => {
    const timer = { delayMs, task, keepsAlive };
    this.set.push(timer);
    return () => {
      const at = this.set.indexOf(timer);
      if (at >= 0) this.set.splice(at, 1);
    };
  };

  /** Runs the only timer, and returns its delay. */
  async run(): Promise<number> {
    expect(this.set).toHaveLength(1);
    const [{ delayMs, task }] = this.set.splice(0) as [(typeof this.set)[0]];
    task();
    await new Promise((resolve) => setImmediate(resolve));
    return delayMs;
  }
}

class FakeSocket extends EventTarget implements LinkSocket {
  binaryType = '';
  readyState = 0;
  readonly sent: unknown[] = [];
  readonly closes: unknown[][] = [];

  open(): void {
    this.readyState = 1;
    this.dispatchEvent(new Event('open'));
  }

  send(data: Uint8Array | string): void {
    this.sent.push(data);
  }

  close(...reason: unknown[]): void {
    this.closes.push(reason);
    this.end();
  }

  /** Ends the socket as if the server had closed it. */
  end(code?: number): void {
    this.readyState = 3;
    this.dispatchEvent(Object.assign(new Event('close'), { code }));
  }
}

function world(open: () => LinkSocket) {
  const timers = new Timers();
  const told: string[] = [];
  const app = { listens: false };
  const replica = {
    pending: [] as unknown[],
    connected() {
      told.push('connected');
      return {
        received: ({ length }: Uint8Array) => told.push(`received ${length}`),
        closed: () => told.push('closed'),
      };
    },
  };
  const link = new FollowLink(replica as unknown as Replica, {
    open: async () => open(),
    afterRealTime: timers.after,
    random: () => 1,
    isWatched: () => app.listens,
    changed: () => told.push(`changed ${link.refusal ?? link.isDoubted}`),
  });
  return { link, timers, told, replica, app };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('the connection of a copy', () => {
  test('[FOLP14] is tried again after pauses that double up to 30 s', async () => {
    const { timers, link } = world(() => {
      throw new Error('no network');
    });
    await turn();
    const delays: number[] = [];
    for (let i = 0; i < 10; i++) delays.push(await timers.run());
    expect(delays).toEqual([200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
    link.stop();
    expect(timers.set).toEqual([]);
  });

  test('[FOLP35] an address that does not come is given up, and so is a socket that stays silent', async () => {
    let make: (socket: LinkSocket) => void = () => {};
    const { timers, told, link } = world(
      () => new Promise<LinkSocket>((resolve) => (make = resolve)) as never,
    );
    await turn();
    expect(await timers.run()).toBe(35_000);
    const late = new FakeSocket();
    make(late);
    expect(await timers.run()).toBe(200);
    expect(late.readyState).toBe(3);
    const socket = Object.assign(new FakeSocket(), { close() {} });
    make(socket);
    await turn();
    socket.open();
    expect(await timers.run()).toBe(25_000);
    expect(await timers.run()).toBe(10_000);
    expect(told).toEqual(['connected', 'closed']);
    expect(await timers.run()).toBe(400);
    socket.dispatchEvent(new MessageEvent('message', { data: new ArrayBuffer(3) }));
    socket.end();
    expect(told).toEqual(['connected', 'closed']);
    link.stop();
    const heard: string[] = [];
    const unheard = new FakeSocket();
    const { addEventListener } = unheard;
    unheard.addEventListener = (type: string, listener: never) => {
      heard.push(type);
      addEventListener.call(unheard, type, listener);
    };
    make(unheard);
    await turn();
    // A socket of `ws` ends the process if nobody hears its error.
    expect([heard, unheard.readyState]).toEqual([['error'], 3]);
  });

  test('[FOLP14] a server that is silent is asked, and given up when it does not answer', async () => {
    const sockets: FakeSocket[] = [];
    const { timers, told, link } = world(() => {
      sockets.push(new FakeSocket());
      return sockets.at(-1)!;
    });
    await turn();
    sockets[0]!.open();
    expect(await timers.run()).toBe(25_000);
    expect(sockets[0]!.sent).toEqual(['_follow_ping']);
    sockets[0]!.dispatchEvent(new MessageEvent('message', { data: '_follow_pong' }));
    expect(await timers.run()).toBe(25_000);
    expect(await timers.run()).toBe(10_000);
    expect(told).toEqual(['connected', 'closed']);
    expect(await timers.run()).toBe(200);
    sockets[1]!.open();
    sockets[1]!.dispatchEvent(new MessageEvent('message', { data: new ArrayBuffer(3) }));
    expect(told).toEqual(['connected', 'closed', 'connected', 'received 3']);
    link.stop();
  });

  /** A link whose app listens, with an open socket; `heard` lets a message of the server come. */
  async function watched() {
    const sockets: FakeSocket[] = [];
    const made = world(() => {
      sockets.push(new FakeSocket());
      return sockets.at(-1)!;
    });
    made.app.listens = true;
    await turn();
    sockets[0]!.open();
    const heard = (data: unknown = new ArrayBuffer(1)) =>
      sockets.at(-1)!.dispatchEvent(new MessageEvent('message', { data }));
    return { ...made, sockets, heard };
  }

  test('[FOLP14] while an app listens, a server that is silent for 3 s is asked, and the connection is doubted 2 s later', async () => {
    const { timers, told, link, sockets, heard } = await watched();
    expect(await timers.run()).toBe(3000);
    expect(sockets[0]!.sent).toEqual(['_follow_ping']);
    heard('_follow_pong');
    expect([await timers.run(), await timers.run()]).toEqual([3000, 2000]);
    expect([link.isDoubted, told]).toEqual([true, ['connected', 'changed true']]);
    // A slow network may need as long for one message: the socket stays.
    expect(sockets[0]!.readyState).toBe(1);
    heard();
    expect(link.isDoubted).toBe(false);
    expect(told.slice(2)).toEqual(['changed false', 'received 1']);
    const delays = [await timers.run(), await timers.run(), await timers.run()];
    expect(delays).toEqual([3000, 2000, 30_000]);
    expect(told.slice(4)).toEqual(['changed true', 'closed']);
    expect([link.isDoubted, await timers.run()]).toEqual([false, 200]);
    link.stop();
  });

  test('[FOLP14] an app that begins to listen has a silent server asked early, and late again when it has ended', async () => {
    const { timers, link, sockets, app, heard } = await watched();
    app.listens = false;
    expect(await timers.run()).toBe(3000);
    expect(sockets[0]!.sent).toEqual([]);
    expect(await timers.run()).toBe(22_000);
    expect(sockets[0]!.sent).toEqual(['_follow_ping']);
    heard();
    app.listens = true;
    expect(timers.set.map(({ delayMs }) => delayMs)).toEqual([25_000]);
    link.watchClosely();
    const [timer] = timers.set;
    link.watchClosely();
    expect(timers.set).toEqual([timer]);
    expect(await timers.run()).toBe(3000);
    link.stop();
    link.watchClosely();
    expect(timers.set).toEqual([]);
  });

  test('[FOLP14] a socket that is not open yet has 35 s to open, also while an app listens', async () => {
    const socket = Object.assign(new FakeSocket(), { close() {} });
    const { timers, told, link, app } = world(() => socket);
    app.listens = true;
    await turn();
    expect([await timers.run(), await timers.run()]).toEqual([25_000, 10_000]);
    socket.open(); // It was given up, and the next attempt follows.
    expect([told, timers.set.map(({ delayMs }) => delayMs)]).toEqual([[], [200]]);
    link.stop();
  });

  test('[FOLP29] when the network comes back, a connection that is doubted is replaced at once', async () => {
    const { timers, told, link, sockets, heard } = await watched();
    for (let i = 0; i < 2; i++) await timers.run();
    expect(link.isDoubted).toBe(true);
    link.connectNow();
    await turn();
    expect([sockets.length, sockets[0]!.readyState]).toEqual([2, 3]);
    sockets[1]!.open();
    heard();
    expect(told).toEqual(['connected', 'changed true', 'closed', 'connected', 'received 1']);
    expect([link.isDoubted, timers.set.length]).toEqual([false, 1]);
    link.stop();
  });

  test('[FOLP29] when the network comes back, a connection that seems alive is asked, and replaced after 2 s without an answer', async () => {
    const { timers, told, link, sockets, heard } = await watched();
    link.connectNow();
    expect(sockets[0]!.sent).toEqual(['_follow_ping']);
    heard('_follow_pong');
    expect(timers.set.map(({ delayMs }) => delayMs)).toEqual([3000]);
    link.connectNow();
    expect(await timers.run()).toBe(2000);
    expect([sockets.length, sockets[0]!.readyState]).toEqual([2, 3]);
    // The second attempt was begun since the network came back. An event that comes again and again does not end it.
    for (let i = 0; i < 3; i++) link.connectNow();
    await turn();
    expect([sockets.length, sockets[1]!.readyState]).toEqual([2, 0]);
    sockets[1]!.open();
    expect([told, timers.set.length]).toEqual([['connected', 'closed', 'connected'], 1]);
    link.stop();
  });

  test('[FOLP29] when the network comes back, an address that was asked for before is not waited for', async () => {
    const made: ((socket: LinkSocket) => void)[] = [];
    const { timers, told, link } = world(
      () => new Promise<LinkSocket>((resolve) => made.push(resolve)) as never,
    );
    await turn();
    link.connectNow();
    await turn();
    const [late, present] = [new FakeSocket(), new FakeSocket()];
    made[1]!(present);
    made[0]!(late);
    await turn();
    expect([late.readyState, present.readyState, timers.set.length]).toEqual([3, 0, 1]);
    present.open();
    expect(told).toEqual(['connected']);
    link.stop();
  });

  test('[FOLP29] after the network has come back, the pauses are short again', async () => {
    const { timers, link } = world(() => {
      throw new Error('no network');
    });
    await turn();
    for (let i = 0; i < 8; i++) await timers.run();
    link.connectNow();
    await turn();
    expect([await timers.run(), await timers.run()]).toEqual([200, 400]);
    link.stop();
  });

  test('[FOLP14] when the network goes, a server is asked at once if an app listens', async () => {
    const { timers, link, sockets, app, heard } = await watched();
    link.askNow();
    expect(sockets[0]!.sent).toEqual(['_follow_ping']);
    expect(await timers.run()).toBe(2000);
    expect(link.isDoubted).toBe(true);
    link.askNow();
    expect(sockets[0]!.sent).toHaveLength(1);
    app.listens = false;
    heard();
    link.askNow();
    expect(sockets[0]!.sent).toHaveLength(1);
    link.stop();
    link.askNow();
    expect(timers.set).toEqual([]);
  });

  test('[FOLP21] pauses grow each time that this side ends the connection', async () => {
    const ends: ((reason: string) => void)[] = [];
    const timers = new Timers();
    const replica = {
      pending: [],
      connected: ({ close }: { close(reason: string): void }) => {
        ends.push(close);
        return { received() {}, closed() {} };
      },
    };
    let socket = new FakeSocket();
    const link = new FollowLink(replica as unknown as Replica, {
      open: async () => {
        socket = new FakeSocket();
        return socket;
      },
      afterRealTime: timers.after,
      random: () => 1,
      isWatched: () => false,
      changed() {},
    });
    await turn();
    const delays: number[] = [];
    for (let i = 0; i < 4; i++) {
      socket.open();
      socket.dispatchEvent(new MessageEvent('message', { data: new ArrayBuffer(1) }));
      ends.at(-1)!('a part is missing');
      delays.push(await timers.run());
    }
    expect(delays).toEqual([400, 800, 1600, 3200]);
    link.stop();
  });

  test('[FOLP28] a refusal of the server is told once, and tried again after longer and longer pauses', async () => {
    let socket = new FakeSocket();
    const { timers, told, link } = world(() => {
      socket = new FakeSocket();
      return socket;
    });
    await turn();
    const delays: number[] = [];
    for (const code of [4013, 4013, 4016, 4014, undefined]) {
      socket.open();
      socket.end(code);
      delays.push(await timers.run());
    }
    expect(delays).toEqual([200, 400, 800, 1600, 3200]);
    expect(told.filter((line) => line.startsWith('changed'))).toEqual([
      'changed NOT_AUTHORIZED',
      'changed ORIGIN_REFUSED',
      'changed TOO_MANY_FOLLOWERS',
    ]);
    expect(link.refusal).toBe('TOO_MANY_FOLLOWERS');
    socket.open();
    socket.dispatchEvent(new MessageEvent('message', { data: new ArrayBuffer(1) }));
    expect(link.refusal).toBeNull();
    link.stop();
  });

  test('[FOLP29] when the network comes back, the next attempt is made at once', async () => {
    let attempts = 0;
    const { timers, link } = world(() => {
      attempts += 1;
      throw new Error('no network');
    });
    await turn();
    for (let i = 0; i < 8; i++) await timers.run();
    expect([attempts, timers.set[0]!.delayMs]).toEqual([9, 30_000]);
    link.connectNow();
    await turn();
    expect([attempts, timers.set.length]).toEqual([10, 1]);
    link.stop();
    link.connectNow();
    await turn();
    expect([attempts, timers.set.length]).toEqual([10, 0]);
  });

  test('[FOLP14] keeps a process of Node alive while calls wait', async () => {
    const { timers, link, replica } = world(() => {
      throw new Error('no network');
    });
    await turn();
    expect(timers.set.map(({ keepsAlive }) => keepsAlive)).toEqual([false]);
    replica.pending.push({});
    link.keepProcessAlive();
    expect(timers.set.map(({ delayMs, keepsAlive }) => [delayMs, keepsAlive])).toEqual([
      [200, true],
    ]);
    link.stop();
  });

  test('[FOLP14] a socket that opens after the end is closed', async () => {
    const socket = new FakeSocket();
    const { link, timers, told } = world(() => socket);
    link.stop();
    await turn();
    expect([socket.readyState, told, timers.set]).toEqual([3, [], []]);
  });

  test('[FOLP14] nothing is sent on a socket that is not open, because browsers throw then', async () => {
    const socket = new FakeSocket();
    const { timers, told, link } = world(() => socket);
    await turn();
    expect(socket.binaryType).toBe('arraybuffer');
    // The socket does not open: it is given up like a silent one, without a ping.
    expect(await timers.run()).toBe(25_000);
    expect(await timers.run()).toBe(10_000);
    expect([socket.sent, socket.readyState, told]).toEqual([[], 3, []]);
    link.stop();
  });

  test('[FOLP14] bytes leave while the socket is open, and are dropped when it closes', async () => {
    const { timers, link, ends, socket } = heldWorld();
    await turn();
    socket().open();
    ends[0]!.send(new Uint8Array([1, 2]));
    expect(socket().sent).toEqual([new Uint8Array([1, 2])]);
    socket().readyState = 2;
    ends[0]!.send(new Uint8Array([3]));
    expect(socket().sent).toHaveLength(1);
    expect(timers.set.map(({ delayMs }) => delayMs)).toEqual([25_000]);
    link.stop();
  });

  test('[FOLP21] the reason of a close is cut and reduced to ASCII, so that each WebSocket takes it', async () => {
    const { link, ends, socket } = heldWorld();
    await turn();
    socket().open();
    const closed = socket();
    ends[0]!.close(`"é" ~ ${'€'.repeat(300)}`);
    expect(closed.closes).toEqual([[1000, `"?" ~ ${'?'.repeat(114)}`]]);
    link.stop();
  });

  test('[FOLP14] a socket that was open when it was made is used', async () => {
    const socket = new FakeSocket();
    socket.readyState = 1;
    const { told, link } = world(() => socket);
    await turn();
    expect(told).toEqual(['connected']);
    link.stop();
    expect(socket.readyState).toBe(3);
  });

  test('[FOLP14] texts, and messages after the end, are ignored, and a socket that fails ends once', async () => {
    const { timers, told, link, sockets } = listedWorld();
    await turn();
    const [socket] = sockets as [FakeSocket];
    socket.open();
    socket.dispatchEvent(new MessageEvent('message', { data: 'text' }));
    socket.dispatchEvent(new Event('error'));
    expect(told).toEqual(['connected', 'closed']);
    socket.end(1006);
    socket.dispatchEvent(new MessageEvent('message', { data: new ArrayBuffer(3) }));
    expect(told).toEqual(['connected', 'closed']);
    expect(await timers.run()).toBe(200);
    expect(sockets).toHaveLength(2);
    link.stop();
  });

  test('[FOLW16] it tells a close because of another identity from others', async () => {
    const { timers, link, sockets, taken } = listedWorld();
    await turn();
    for (const code of [4010, 4006, 4013]) {
      sockets.at(-1)!.open();
      sockets.at(-1)!.end(code);
      await timers.run();
    }
    expect(taken).toEqual([true, false, false]);
    link.stop();
  });

  test('[FOLP14] the pause is random, between a half of its full length and all of it', async () => {
    const delays: number[] = [];
    for (const drawn of [0, 0.5, 1]) {
      const timers = new Timers();
      const link = new FollowLink({ pending: [] } as unknown as Replica, {
        open: async () => {
          throw new Error('no network');
        },
        afterRealTime: timers.after,
        random: () => drawn,
        isWatched: () => false,
        changed() {},
      });
      await turn();
      delays.push(await timers.run());
      link.stop();
    }
    expect(delays).toEqual([100, 150, 200]);
  });

  test('[FOLP14] calls that come while it is connected begin no attempt', async () => {
    const { timers, link, replica, sockets } = listedWorld();
    await turn();
    sockets[0]!.open();
    const watching = [...timers.set];
    expect(watching).toMatchObject([{ delayMs: 25_000 }]);
    replica.pending.push({});
    link.keepProcessAlive();
    await turn();
    expect(timers.set).toEqual(watching);
    expect(sockets).toHaveLength(1);
    link.stop();
  });

  test('[FOLP14] calls that come in a pause that the process waits for leave it as it is', async () => {
    const { timers, link, replica, sockets } = listedWorld();
    await turn();
    sockets[0]!.open();
    replica.pending.push({});
    sockets[0]!.end();
    const [pause] = timers.set;
    expect(pause).toMatchObject({ delayMs: 200, keepsAlive: true });
    link.keepProcessAlive();
    expect(timers.set).toHaveLength(1);
    expect(timers.set[0]).toBe(pause);
    link.stop();
  });

  test('[FOLP14] calls that come after it was stopped in a pause begin no attempt', async () => {
    const { timers, link, replica, sockets } = listedWorld();
    await turn();
    sockets[0]!.open();
    sockets[0]!.end();
    expect(timers.set).toMatchObject([{ delayMs: 200, keepsAlive: false }]);
    link.stop();
    replica.pending.push({});
    link.keepProcessAlive();
    link.connectNow();
    await turn();
    expect(timers.set).toEqual([]);
    expect(sockets).toHaveLength(1);
  });

  test('[FOLP35] an address that fails after the link was stopped is not tried again', async () => {
    let fail: (reason: Error) => void = () => {};
    const { timers, link } = world(
      () => new Promise<LinkSocket>((_, reject) => (fail = reject)) as never,
    );
    await turn();
    link.stop();
    fail(new Error('no network'));
    await turn();
    expect(timers.set).toEqual([]);
  });

  test('[FOLP35] a socket that is made after the link was stopped meanwhile is closed', async () => {
    let make: (socket: LinkSocket) => void = () => {};
    const { timers, told, link } = world(
      () => new Promise<LinkSocket>((resolve) => (make = resolve)) as never,
    );
    await turn();
    const socket = new FakeSocket();
    link.stop();
    make(socket);
    await turn();
    expect([socket.readyState, told, timers.set]).toEqual([3, [], []]);
  });
});

/** Returns a link with the list of its sockets, and the values of `isClientTaken` that its replica got. */
function listedWorld() {
  const sockets: FakeSocket[] = [];
  const taken: boolean[] = [];
  const made = world(() => {
    sockets.push(new FakeSocket());
    return sockets.at(-1)!;
  });
  const { connected } = made.replica;
  made.replica.connected = () => {
    const end = connected.call(made.replica);
    return {
      ...end,
      closed: ((isClientTaken: boolean) => {
        taken.push(isClientTaken);
        end.closed();
      }) as never,
    };
  };
  return { ...made, sockets, taken };
}

/** Returns a link with the methods by which its replica sends and closes, for the test to call. */
function heldWorld() {
  const timers = new Timers();
  const ends: ReplicaSocket[] = [];
  const sockets: FakeSocket[] = [];
  const replica = {
    pending: [],
    connected(end: ReplicaSocket) {
      ends.push(end);
      return { received() {}, closed() {} };
    },
  };
  const link = new FollowLink(replica as unknown as Replica, {
    open: async () => {
      sockets.push(new FakeSocket());
      return sockets.at(-1)!;
    },
    afterRealTime: timers.after,
    random: () => 1,
    isWatched: () => false,
    changed() {},
  });
  return { timers, link, ends, socket: () => sockets.at(-1)! };
}
