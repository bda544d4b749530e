import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runTask } from '../io/current-context.ts';
import type { IoContext } from '../io/io-context.ts';
import { undoAll } from '../io/replace-global.ts';
import { installSocketClasses, installSocketResponse } from './install.ts';
import { socketParts, type WebSocket, WebSocketPair } from './web-socket.ts';

/** Waits until messages have arrived. Each takes one timer, and timers fire in order. */
async function later(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
}

/** Lists the messages and closes that listeners of the socket get from now on. */
function heard(socket: WebSocket): unknown[] {
  const log: unknown[] = [];
  socket.addEventListener('message', (event) => log.push((event as MessageEvent).data));
  socket.addEventListener('close', (event) => {
    const { code, reason, wasClean } = event as CloseEvent;
    log.push([code, reason, wasClean]);
  });
  return log;
}

function open(): [WebSocket, WebSocket] {
  const { 0: a, 1: b } = new WebSocketPair();
  a.accept();
  b.accept();
  return [a, b];
}

/** Makes the context of a class with this compatibility date. */
function ofDate(compatibilityDate: string): IoContext {
  const context: Partial<IoContext> = {
    compatibilityDate,
    entrance: () => async (task) => task(),
    retain: () => () => {},
    send: async (start) => start(),
  };
  return context as IoContext;
}

/** Returns the class and the name of the error that the action throws. */
function thrown(action: () => void): string {
  try {
    action();
    return 'nothing';
  } catch (error) {
    return `${(error as Error).constructor.name} ${(error as Error).name}`;
  }
}

describe('a pair of sockets', () => {
  test("[WS1] each receives the other's messages, in order, in later turns", async () => {
    const [a, b] = open();
    const log = heard(b);
    a.send('1');
    log.push('sync');
    a.send('2');
    a.send(3);
    a.send(new Uint8Array([1, 2, 3]).subarray(1));
    a.send(new Blob(['blob']));
    a.send('last');
    await later();
    expect(log.slice(0, 4)).toEqual(['sync', '1', '2', '3']);
    expect(new Uint8Array(log[4] as ArrayBuffer)).toEqual(new Uint8Array([2, 3]));
    expect(new TextDecoder().decode(log[5] as ArrayBuffer)).toBe('blob');
    expect(log[6]).toBe('last');
  });

  test('[WS2] messages wait until the socket is accepted; before that it cannot be used', async () => {
    const { 0: a, 1: b } = new WebSocketPair();
    expect(thrown(() => a.send('x'))).toBe('TypeError TypeError');
    expect(thrown(() => a.close())).toBe('TypeError TypeError');
    a.accept();
    a.accept();
    a.send('queued');
    const log = heard(b);
    await later();
    expect(log).toEqual([]);
    b.accept();
    await later();
    expect(log).toEqual(['queued']);
  });

  test('[WS3] a goodbye is answered; both hear it once, and nothing is sent after it', async () => {
    const [a, b] = open();
    const [atA, atB] = [heard(a), heard(b)];
    a.close(4001, 'done');
    expect(a.readyState).toBe(2);
    expect(thrown(() => a.send('x'))).toBe('TypeError TypeError');
    a.close(4002, 'again');
    await later();
    expect([atA, atB]).toEqual([[[4001, 'done', true]], [[4001, 'done', true]]]);
    expect([a.readyState, b.readyState]).toEqual([3, 3]);
  });

  test('[WS3] a listener may answer a goodbye with words of its own', async () => {
    const [a, b] = open();
    const atA = heard(a);
    b.addEventListener('close', () => b.close(4005, 'mine'));
    a.close(1000, 'bye');
    await later();
    expect(atA).toEqual([[4005, 'mine', true]]);
  });

  test('[WS3] in a class of the newest dates, the answer comes before the listener', async () => {
    const { 0: a, 1: b } = new WebSocketPair();
    const atA = heard(a);
    const states: number[] = [];
    b.addEventListener('close', () => {
      states.push(b.readyState);
      b.close(4005, 'mine');
    });
    runTask(ofDate('2026-04-07'), () => b.accept());
    a.accept();
    a.close(4001, 'done');
    await later();
    expect([atA, states]).toEqual([[[4001, 'done', true]], [3]]);
    const { 0: c, 1: d } = new WebSocketPair();
    d.addEventListener('close', () => states.push(d.readyState));
    runTask(ofDate('2026-04-06'), () => d.accept());
    c.accept();
    c.close();
    await later();
    expect(states).toEqual([3, 2]);
  });

  test('[WS23] a half-open socket sends after a close, until its own', async () => {
    const { 0: a, 1: b } = new WebSocketPair();
    const [atA, atB] = [heard(a), heard(b)];
    a.accept();
    b.accept({ allowHalfOpen: true });
    a.close(4001, 'done');
    await later();
    expect([a.readyState, b.readyState]).toEqual([2, 2]);
    b.send('still open');
    b.close(4002, 'mine');
    expect(thrown(() => b.send('late'))).toBe('TypeError TypeError');
    await later();
    expect([atA, atB]).toEqual([['still open', [4002, 'mine', true]], [[4001, 'done', true]]]);
    expect([a.readyState, b.readyState]).toEqual([3, 3]);
    const [c, d] = open();
    expect(thrown(() => new WebSocketPair()[0].accept(5 as never))).toBe('TypeError TypeError');
    c.close();
    await later();
    expect(d.readyState).toBe(3);
  });

  test('[WS24] a message before a close meets an open socket, and its answer arrives', async () => {
    const [a, b] = open();
    const atA = heard(a);
    const states: unknown[] = [];
    b.addEventListener('message', (event) => {
      const { data } = event as MessageEvent;
      states.push([data, b.readyState]);
      b.send(new Blob([`to ${data}`])); // read before it is sent, so what follows may overtake it
    });
    b.addEventListener('close', () => states.push(b.readyState));
    a.send('one');
    a.send('two');
    a.close(4001, 'done');
    await later();
    expect(states).toEqual([['one', 1], ['two', 1], 2]);
    const texts = atA.slice(0, 2).map((data) => new TextDecoder().decode(data as ArrayBuffer));
    expect([texts, atA[2]]).toEqual([
      ['to one', 'to two'],
      [4001, 'done', true],
    ]);
  });

  test('[WS22] nothing is sent over a lost connection, and that is no error', async () => {
    const [a, b] = open();
    const [atA, atB] = [heard(a), heard(b)];
    socketParts(a)!.end.break();
    await later();
    expect([a, b].map((socket) => thrown(() => socket.send('late')))).toEqual([
      'nothing',
      'nothing',
    ]);
    expect([atA, atB]).toEqual([[[1006, '', false]], [[1006, '', false]]]);
    const [closed] = open();
    closed.close();
    socketParts(closed)!.end.break();
    expect(thrown(() => closed.send('late'))).toBe('TypeError TypeError');
  });

  test('[WS5] codes that nobody may say, and long reasons, are refused', () => {
    const codes = [999, 1004, 1005, 1006, 1015, 5000, Number.NaN, 'x' as never];
    for (const code of codes) {
      const [a] = open();
      expect([code, thrown(() => a.close(code))]).toEqual([
        code,
        'DOMException InvalidAccessError',
      ]);
    }
    for (const code of [1000, 1001, 1011, 2999, 3000, 4999, undefined]) {
      const [a] = open();
      expect([code, thrown(() => a.close(code))]).toEqual([code, 'nothing']);
    }
    const [a] = open();
    expect(thrown(() => a.close(undefined, 'r'))).toBe('DOMException InvalidAccessError');
    expect(thrown(() => a.close(1000, 'é'.repeat(62)))).toBe('DOMException SyntaxError');
    expect(thrown(() => a.close(1000, 'r'.repeat(123)))).toBe('nothing');
  });

  test('[WS12] an attachment stays with the socket, up to 16,384 bytes', () => {
    const [a] = open();
    expect(a.deserializeAttachment()).toBeNull();
    a.serializeAttachment({ user: 'zoë', since: new Date(0) });
    expect(a.deserializeAttachment()).toEqual({ user: 'zoë', since: new Date(0) });
    // Of 16,384 bytes, five are the text's version, kind and length.
    const largest = 'x'.repeat(16_379);
    a.serializeAttachment(largest);
    expect(() => a.serializeAttachment(`${largest}x`)).toThrow(/larger than 16384 bytes/);
    expect(thrown(() => a.serializeAttachment(() => {}))).toContain('DataCloneError');
    expect(a.deserializeAttachment()).toBe(largest);
  });

  test('[WS7] handlers set as properties are called, replaced and taken away', async () => {
    const [a, b] = open();
    const log: string[] = [];
    b.onmessage = () => log.push('first');
    b.onmessage = (event) => log.push(`second ${(event as MessageEvent).data}`);
    a.send('x');
    await later();
    b.onmessage = null;
    a.send('y');
    await later();
    expect(log).toEqual(['second x']);
    expect(b.onmessage).toBeNull();
  });

  test('[WS7] binary messages arrive as the socket asks for them', async () => {
    const [a, b] = open();
    const log = heard(b);
    expect(b.binaryType).toBe('arraybuffer'); // the default outside of objects
    const defaults = ['2026-03-16', '2026-03-17'].map((date) => {
      let type: string | undefined;
      runTask(ofDate(date), () => {
        type = new WebSocketPair()[0].binaryType;
      });
      return type;
    });
    expect(defaults).toEqual(['arraybuffer', 'blob']);
    b.binaryType = 'blob';
    a.send(new Uint8Array([1, 2]));
    await later();
    expect(log).toEqual([expect.any(Blob)]);
    expect(new Uint8Array(await (log[0] as Blob).arrayBuffer())).toEqual(new Uint8Array([1, 2]));
  });
});

describe('globals', () => {
  let undo: (() => void)[];
  beforeEach(() => {
    undo = [installSocketResponse(globalThis), installSocketClasses(globalThis)];
  });
  afterEach(() => undoAll(undo));

  test('[WS9] a Response can carry a socket, with status 101 and no other; nothing else changes', async () => {
    const { WebSocketPair: Pair } = globalThis as unknown as {
      WebSocketPair: typeof WebSocketPair;
    };
    const pair = new Pair();
    expect(Object.keys(pair)).toEqual(['0', '1']);
    const make = (status: number | undefined, body: BodyInit | null = null) =>
      new Response(body, { status, webSocket: pair[0] } as ResponseInit);
    const response = make(101) as Response & { webSocket: WebSocket };
    expect([response.status, response.ok, response.webSocket]).toEqual([101, false, pair[0]]);
    expect(response).toBeInstanceOf(Response);
    const notSwitching = new RangeError('Responses with a WebSocket must have status code 101.');
    expect(() => make(200)).toThrow(notSwitching);
    expect(() => make(undefined)).toThrow(notSwitching);
    expect(() => make(101, 'body')).toThrow(/cannot have a body/);
    expect(() => new Response(null, { status: 101 })).toThrow(RangeError);
    expect(() => new Response(null, { status: 101, webSocket: {} } as never)).toThrow(
      /is not a WebSocket/,
    );
    expect(await new Response('text', { status: 201 }).text()).toBe('text');
    expect(Response.json({}).headers.get('content-type')).toContain('json');
    class Mine extends Response {}
    expect(new Mine('x')).toBeInstanceOf(Mine);
    expect(await Response.json([1]).json()).toEqual([1]);
  });

  test('[WS21] a pair can be iterated, and shows its two sockets and nothing else', () => {
    const pair = new WebSocketPair();
    const [a, b, ...rest] = pair;
    expect([a === pair[0], b === pair[1], rest]).toEqual([true, true, []]);
    expect(Reflect.ownKeys(pair)).toEqual(['0', '1']);
    expect(Object.entries(pair)).toEqual([
      ['0', a],
      ['1', b],
    ]);
    expect(Object.getOwnPropertyDescriptor(pair, 0)).toMatchObject({
      writable: false,
      enumerable: true,
      configurable: true,
    });
    const seen: string[] = [];
    for (const name in pair) seen.push(name);
    expect(seen).toEqual(['0', '1']);
    const iterator = pair[Symbol.iterator]();
    expect(iterator[Symbol.iterator]()).toBe(iterator);
  });

  test('[WS7] a socket is a WebSocket by name, by constants and by instanceof', () => {
    const { WebSocket: Global } = globalThis as unknown as { WebSocket: typeof WebSocket };
    const [a] = open();
    expect(a).toBeInstanceOf(Global);
    expect(Object.prototype.toString.call(a)).toBe('[object WebSocket]');
    const { send } = Global.prototype;
    expect(() => Reflect.apply(send, a, ['x'])).not.toThrow();
    expect([Global.CONNECTING, Global.OPEN, Global.CLOSING, Global.CLOSED]).toEqual([0, 1, 2, 3]);
  });
});
