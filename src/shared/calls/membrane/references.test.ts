import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { RpcStub } from '../../contract/object.ts';
import { RpcTarget } from '../../contract/rpc-target.ts';
import { WebSocketPair } from '../sockets/web-socket.ts';
import { FREE, Party } from '../stubs/party.ts';
import { pairOfReferences, type References } from './references.ts';

const party = new Party(FREE, () => {
  throw new Error('No stub is passed here.');
});

let near: References;
let far: References;

beforeEach(() => {
  [near, far] = pairOfReferences();
});

/** The value as the other side gets it. */
function pass(value: unknown): unknown {
  return far.receive(near.send(near.draft(value, party)), party);
}

function failure(call: Promise<unknown>): Promise<Error & { code?: string }> {
  return call.then(
    () => expect.fail('it succeeded'),
    (error) => error,
  );
}

type Callable = RpcStub<() => number>;

describe('the references of a side', () => {
  test('[STUB10] is let go of when the last handle is disposed', async () => {
    const stub = pass(() => 1) as Callable;
    const other = stub.dup();
    expect(near.size).toBe(1);
    stub[Symbol.dispose]();
    stub[Symbol.dispose]();
    expect([await other(), near.size]).toEqual([1, 1]);
    other[Symbol.dispose]();
    expect(near.size).toBe(0);
  });

  test('[STUB10] disposing a result disposes every stub in it', () => {
    const map = new Map([
      ['key', () => 3],
      ['other', () => 4],
    ]);
    const made = { a: () => 1, b: [() => 2], map, set: new Set([() => 5]), deep: { er: () => 6 } };
    const result = pass(made) as Disposable;
    expect([near.size, Object.keys(result)]).toEqual([6, Object.keys(made)]);
    result[Symbol.dispose]();
    expect(near.size).toBe(0);
  });

  test('[STUB10] the same function twice in a value is one reference', () => {
    const call = () => 1;
    const [first, second] = pass([call, call]) as [object, object];
    expect([first === second, near.size]).toEqual([true, 1]);
  });

  test('[STUB10] is let go of when the other side ends; calls then reject', async () => {
    const cancelled = vi.fn();
    const stub = pass(() => 1) as Callable;
    pass(new ReadableStream({ cancel: cancelled }));
    const reason = new Error('gone');
    near.end(reason);
    expect(near.size).toBe(0);
    expect(cancelled).toHaveBeenCalledWith(reason);
    expect(await failure(stub())).toMatchObject({ code: 'CONNECTION_CLOSED' });
    pass(() => 1);
    expect(near.size).toBe(0);
  });

  test('[STUB10] a draft that is not sent holds nothing', () => {
    near.draft(() => 1, party);
    expect(near.size).toBe(0);
  });

  test('[STUB43] a disposed stub arrives disposed, while others of its target live', async () => {
    const stub = pass(() => 1) as Callable;
    const other = stub.dup();
    stub[Symbol.dispose]();
    const [passed] = pass([stub]) as [Callable];
    for (const one of [stub.dup(), passed, passed.dup()]) {
      const error = await failure(one());
      expect(error.message).toMatch(/^RPC stub used after being disposed\./);
      expect([error.code, 'retryable' in error]).toEqual(['CONNECTION_CLOSED', false]);
    }
    expect(await other()).toBe(1);
  });

  test('[STUB44] a message that cannot be sent disposes of its targets and ends its streams', async () => {
    const disposed = vi.fn();
    const target = Object.assign(() => 1, { [Symbol.dispose]: disposed });
    const cancel = vi.fn();
    const streams = [new ReadableStream({ cancel }), new WritableStream({ abort: cancel })];
    const { signal } = new AbortController();
    expect(() => near.draft([target, signal, ...streams, Symbol('s')], party)).toThrow(
      expect.objectContaining({ name: 'DataCloneError' }),
    );
    await vi.waitUntil(() => cancel.mock.calls.length === 2);
    expect(disposed).toHaveBeenCalledTimes(1);
  });

  test('[STUB44] the targets of a call whose object ends before it is sent are disposed of', async () => {
    const reset = new Error('reset');
    const ended = new Party({ ...FREE, send: () => Promise.reject(reset) }, () => {
      throw new Error('No stub is passed here.');
    });
    const stub = far.receive(near.send(near.draft(() => 1, party)), ended) as Callable;
    const disposed = vi.fn();
    const target = Object.assign(() => 1, { [Symbol.dispose]: disposed });
    const call = (stub as unknown as (target: unknown) => Promise<number>)(target);
    expect(await failure(call)).toBe(reset);
    expect(disposed).toHaveBeenCalledTimes(1);
  });

  test('[STUB45] a target is disposed of once a call under way is answered', async () => {
    const seen: string[] = [];
    let finish = () => {};
    const work = () => new Promise<void>((resolve) => (finish = resolve));
    const target = Object.assign(work, { [Symbol.dispose]: () => void seen.push('disposed') });
    const stub = pass(target) as unknown as RpcStub<() => void>;
    const called = stub();
    stub[Symbol.dispose]();
    await vi.waitUntil(() => String(finish).includes('native'));
    expect([seen, near.size]).toEqual([[], 1]);
    finish();
    await called;
    await vi.waitUntil(() => near.size === 0);
    expect(seen).toEqual(['disposed']);
  });
});

describe('streams', () => {
  test('[STUB12] are pulled one chunk at a time, with any value, and end', async () => {
    const pulled = vi.fn();
    let count = 0;
    const source = new ReadableStream(
      {
        pull(controller) {
          pulled();
          controller.enqueue({ count: ++count });
          if (count === 2) controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const reader = (pass(source) as ReadableStream).getReader();
    expect(pulled).not.toHaveBeenCalled();
    expect((await reader.read()).value).toMatchObject({ count: 1 });
    expect(pulled).toHaveBeenCalledTimes(1);
    await reader.read();
    expect((await reader.read()).done).toBe(true);
    expect(near.size).toBe(0);
  });

  test('[STUB12] an error of the source reaches the reader', async () => {
    const source = new ReadableStream({
      pull: () => Promise.reject(new RangeError('dry')),
    });
    const reader = (pass(source) as ReadableStream).getReader();
    expect(await failure(reader.read())).toMatchObject({ name: 'RangeError', message: 'dry' });
  });

  test('[STUB12] cancelling one cancels its source, with the reason', async () => {
    const cancelled = vi.fn();
    await (pass(new ReadableStream({ cancel: cancelled })) as ReadableStream).cancel('enough');
    expect(cancelled).toHaveBeenCalledWith('enough');
    expect(near.size).toBe(0);
  });

  test('[STUB12] chunks written to it arrive in order, then its end', async () => {
    const written: unknown[] = [];
    const closed = vi.fn();
    const sink = new WritableStream({ write: (chunk) => void written.push(chunk), close: closed });
    const writer = (pass(sink) as WritableStream).getWriter();
    void writer.write('a');
    void writer.write({ b: 1 });
    await writer.close();
    expect(written).toEqual(['a', expect.objectContaining({ b: 1 })]);
    expect(closed).toHaveBeenCalled();
  });

  test('[STUB12] aborting one aborts its sink, with the reason', async () => {
    const aborted = vi.fn();
    await (pass(new WritableStream({ abort: aborted })) as WritableStream).abort('enough');
    expect(aborted).toHaveBeenCalledWith('enough');
    expect(near.size).toBe(0);
  });

  test('[STUB12] a stream in use cannot be passed', () => {
    const [readable, writable] = [new ReadableStream(), new WritableStream()];
    readable.getReader();
    writable.getWriter();
    for (const stream of [readable, writable]) expect(() => pass(stream)).toThrow(TypeError);
  });
});

describe('the results of a target', () => {
  test('[STUB31] its own fetch, alarm and connect are methods, and a getter may give a stub', async () => {
    class Inner extends RpcTarget {
      add(by: number): number {
        return 40 + by;
      }
    }
    const inner = pass(new Inner());
    class Outer extends RpcTarget {
      fetch(): string {
        return 'fetched';
      }
      get inner(): unknown {
        return inner;
      }
    }
    const stub = pass(new Outer()) as { fetch(): Promise<string>; inner: Inner };
    expect([await stub.fetch(), await stub.inner.add(2)]).toEqual(['fetched', 42]);
  });

  test('[STUB31] a member that was not awaited, and a socket by itself, are not passed', () => {
    const stub = pass(() => 1) as unknown as { member: unknown };
    for (const value of [stub.member, new WebSocketPair()[0]]) {
      expect(() => pass({ value })).toThrow(expect.objectContaining({ name: 'DataCloneError' }));
    }
  });
});

describe('released references', () => {
  let gone: string[];
  beforeEach(() => {
    gone = [];
  });

  class Subscription extends RpcTarget {
    name(): string {
      return 'subscription';
    }
    [Symbol.dispose](): void {
      gone.push('target');
    }
  }
  const disposable = () =>
    Object.assign(() => 1, { [Symbol.dispose]: () => void gone.push('function') });

  test('[STUB26] a target is disposed of once, after its last handle', async () => {
    const stub = pass(new Subscription()) as RpcStub<Subscription>;
    const other = stub.dup();
    stub[Symbol.dispose]();
    stub[Symbol.dispose]();
    expect([gone, await other.name()]).toEqual([[], 'subscription']);
    other[Symbol.dispose]();
    other[Symbol.dispose]();
    expect(gone).toEqual(['target']);
  });

  test('[STUB26] so is a function, and everything in a result', () => {
    const result = pass({ list: [disposable()], deep: { one: new Subscription() } }) as Disposable;
    result[Symbol.dispose]();
    expect(gone).toEqual(['function', 'target']);
  });

  test('[STUB26] the end of the connection lets go of all, once', () => {
    const stub = pass(new Subscription()) as RpcStub<Subscription>;
    near.end(new Error('gone'));
    stub[Symbol.dispose]();
    near.end(new Error('again'));
    expect(gone).toEqual(['target']);
  });

  test('[STUB26] a stub that was passed on lets go at both ends', () => {
    const stub = pass(new Subscription()) as RpcStub<Subscription>;
    const [here, there] = pairOfReferences();
    const passed = there.receive(here.send(here.draft(stub, party)), party) as Disposable;
    stub[Symbol.dispose]();
    expect(gone).toEqual([]);
    passed[Symbol.dispose]();
    expect(gone).toEqual(['target']);
  });

  test('[STUB26] a stub in a result is the receiver’s', () => {
    const stub = pass(new Subscription());
    const [here, there] = pairOfReferences();
    const given = there.receive(here.send(here.draft(stub, party, 'given')), party) as Disposable;
    given[Symbol.dispose]();
    expect(gone).toEqual(['target']);
  });
});

describe('paths', () => {
  class Own {}
  class Shelf extends RpcTarget {
    get mixed(): object {
      return { own: new Own(), text: 'reached', deep: { add: (by: number) => by + 1 }, list: [1] };
    }
  }
  // biome-ignore lint/suspicious/noExplicitAny: a caller without types, as JavaScript has it
  const shelf = () => pass(new Shelf()) as any;

  test('[STUB32] reach members of a value that cannot be sent, in one message', async () => {
    const stub = shelf();
    const asked = vi.spyOn(near, 'ask');
    expect([await stub.mixed.text, await stub.mixed.deep.add(1)]).toEqual(['reached', 2]);
    expect(asked).toHaveBeenCalledTimes(2);
    expect(await failure(stub.mixed)).toMatchObject({ name: 'DataCloneError' });
  });

  test('[STUB32] lead no further than stubs, targets, functions and plain objects', async () => {
    const stub = shelf();
    const wrong = [stub.mixed.own.x, stub.mixed.list.length, stub.mixed.text.length, stub.mixed.no];
    for (const member of wrong) {
      expect(await failure(member)).toMatchObject({ name: 'TypeError', code: 'UNKNOWN_METHOD' });
    }
  });

  test('[STUB32] that no stub would make lead nowhere', async () => {
    const asked = vi.spyOn(near, 'ask');
    await shelf().mixed.text;
    const [[number]] = asked.mock.calls as [[number, unknown]];
    for (const name of ['__proto__', 'constructor', 'hasOwnProperty', 'toString', '0']) {
      for (const path of [[name], ['mixed', name], ['mixed', 'deep', 'add', name]]) {
        const outcome = await near.ask(number, { op: 'get', path });
        expect(outcome).toMatchObject({ error: { properties: { code: 'UNKNOWN_METHOD' } } });
      }
    }
  });

  test('[STUB33] an error has the functions that wait for it in its stack', async () => {
    const fail = pass(() => {
      throw new RangeError('on purpose');
    }) as () => Promise<never>;
    async function waitingForIt(): Promise<void> {
      await fail();
    }
    const { stack } = await failure(waitingForIt());
    expect(stack).toMatch(/^RangeError: on purpose\n[\s\S]*waitingForIt/);
  });

  test('[STUB34] arguments and results of more than 32 MiB are refused', {
    tags: 'long',
  }, async () => {
    const echo = pass((value: unknown) => (value === 'much' ? new Uint8Array(2 ** 25) : 'little'));
    const call = echo as (value: unknown) => Promise<unknown>;
    const large = { code: 'MESSAGE_TOO_LARGE', name: 'Error' };
    expect(await failure(call(new Uint8Array(2 ** 25)))).toMatchObject(large);
    expect(await failure(call('much'))).toMatchObject({ ...large, remote: true });
    expect(await call(new Uint8Array(2 ** 25 - 64))).toBe('little');
  });
});
