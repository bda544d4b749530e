import { describe, expect, test, vi } from 'vitest';
import { deserialize } from '../values/decode.ts';
import { serialize } from '../values/encode.ts';
import { type LiveSink, LiveValue } from './live-value.ts';

/** Makes a live value whose source is controlled by the test. */
function create() {
  const source = { sink: undefined as LiveSink | undefined, starts: 0, stops: 0 };
  const live = new LiveValue<unknown>((sink) => {
    source.sink = sink;
    source.starts += 1;
    return () => {
      source.stops += 1;
    };
  }, deserialize);
  const result = (value: unknown) => source.sink!.result(serialize(value));
  return { live, source, result };
}

describe('a live value', () => {
  test('[LIVE10] calls its listener at once, with each change, and not for an equal result', () => {
    const { live, result } = create();
    const seen: unknown[] = [];
    live.subscribe((value) => seen.push(value));
    result({ a: 1 });
    result({ a: 1 });
    result({ a: 2 });
    expect(seen).toEqual([undefined, { a: 1 }, { a: 2 }]);
    const late: unknown[] = [];
    live.subscribe((value) => late.push(value));
    expect(late).toEqual([{ a: 2 }]);
  });

  test('[LIVE10] its snapshot is the same object until it changes', () => {
    const { live, result } = create();
    live.subscribe(() => {});
    const pending = live.getState();
    expect(live.getState()).toBe(pending);
    result([1]);
    const [value, state] = [live.getSnapshot(), live.getState()];
    result([1]);
    expect(live.getSnapshot()).toBe(value);
    expect(live.getState()).toBe(state);
    live.subscribe(() => {}, { onError: () => {} });
    live.getState();
    result([2]);
    expect(live.getSnapshot()).not.toBe(value);
  });

  test('[LIVE10] its methods need no `this`, as React and Svelte call them', () => {
    const { live, result } = create();
    const { subscribe, getSnapshot } = live;
    const seen: unknown[] = [];
    // Svelte passes a second function.
    const stop = subscribe((value) => seen.push(value), (() => {}) as never);
    result(1);
    expect([seen, getSnapshot()]).toEqual([[undefined, 1], 1]);
    stop();
  });

  test('[LIVE10] the source runs while somebody listens, and starts again', () => {
    const { live, source, result } = create();
    expect(source.starts).toBe(0);
    const stops = [live.subscribe(() => {}), live.subscribe(() => {})];
    expect(source).toMatchObject({ starts: 1, stops: 0 });
    result([1]);
    const value = live.getSnapshot();
    stops[0]!();
    stops[0]!();
    expect(source.stops).toBe(0);
    stops[1]!();
    expect(source.stops).toBe(1);
    const seen: unknown[] = [];
    live.subscribe((each) => seen.push(each));
    expect(source.starts).toBe(2);
    result([1]);
    expect(seen).toEqual([[1]]);
    expect(seen[0]).toBe(value);
  });

  test('[LIVE10] reports of a stopped source are ignored', () => {
    const { live, source } = create();
    const stop = live.subscribe(() => {});
    const { sink } = source;
    stop();
    sink!.result(serialize(1));
    sink!.failed(new Error('late'));
    sink!.kept!(serialize(2));
    sink!.ended(new Error('late'));
    expect(live.getState().status).toBe('pending');
    live.subscribe(() => {});
    expect(source.starts).toBe(2);
  });

  test('[LIVE4] a failure keeps the value; the next result ends it', () => {
    const { live, source, result } = create();
    const errors: unknown[] = [];
    const seen: unknown[] = [];
    live.subscribe((value) => seen.push([live.getState().status, value]), {
      onError: (error) => errors.push(error),
    });
    result(1);
    const error = new Error('failed');
    source.sink!.failed(error);
    expect(live.getState()).toEqual({ status: 'failed', value: 1, error });
    result(1);
    expect(errors).toEqual([error]);
    expect(seen).toEqual([
      ['pending', undefined],
      ['ready', 1],
      ['failed', 1],
      ['ready', 1],
    ]);
  });

  test('[LIVE4] after a failure, the next listener starts a read that has not failed', () => {
    const { live, source, result } = create();
    const errors: unknown[] = [];
    const listen = () => live.subscribe(() => {}, { onError: (error) => errors.push(error) });
    const stop = listen();
    source.sink!.failed('first');
    stop();
    listen()();
    expect([errors, live.getState().status]).toEqual([['first'], 'pending']);
    const stopNext = listen();
    result(1);
    source.sink!.failed('second');
    stopNext();
    listen();
    expect(errors).toEqual(['first', 'second']);
    expect(live.getState()).toEqual({ status: 'ready', value: 1, error: undefined });
  });

  test('[LIVE4] an error that nobody listens for is an unhandled rejection', async () => {
    const unhandled = vi.fn();
    const others = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection');
    process.on('unhandledRejection', unhandled);
    try {
      const { live, source } = create();
      live.subscribe(() => {});
      const error = new Error('unheard');
      source.sink!.failed(error);
      await new Promise((resolve) => setTimeout(resolve));
      expect(unhandled.mock.calls.map(([reason]) => reason)).toEqual([error]);
      const stop = live.subscribe(() => {}, { onError: () => {} });
      source.sink!.failed(new Error('heard'));
      stop();
      await new Promise((resolve) => setTimeout(resolve));
      // Whoever closed the handle knows that its live reads end.
      live.subscribe(() => {});
      source.sink!.ended(new Error('closed'));
      await new Promise((resolve) => setTimeout(resolve));
      expect(unhandled).toHaveBeenCalledTimes(1);
    } finally {
      process.removeAllListeners('unhandledRejection');
      for (const other of others) process.on('unhandledRejection', other);
    }
  });

  test('[LIVE10] a value that has ended does not start again, and says why', () => {
    const { live, source } = create();
    const error = new Error('closed');
    const errors: unknown[] = [];
    const onError = (reason: unknown) => errors.push(reason);
    const stop = live.subscribe(() => {}, { onError });
    source.sink!.ended(error);
    stop();
    live.subscribe(() => {}, { onError });
    expect(errors).toEqual([error, error]);
    expect(source.starts).toBe(1);
  });

  test.for(['ended', 'failed', 'result'] as const)(
    '[LIVE10] a source that tells "%s" as it starts is reported once',
    (told) => {
      const error = new Error('closed');
      const report = told === 'result' ? serialize('value') : error;
      const live = new LiveValue<unknown>((sink) => {
        sink[told](report as never);
        return () => {};
      }, deserialize);
      const [listener, onError] = [vi.fn(), vi.fn()];
      live.subscribe(listener, { onError });
      expect(listener.mock.calls).toEqual([[told === 'result' ? 'value' : undefined]]);
      expect(onError.mock.calls).toEqual(told === 'result' ? [] : [[error]]);
    },
  );

  test('[LIVE10] disposing of it ends all listeners and iterators', async () => {
    const { live, source, result } = create();
    const seen: unknown[] = [];
    live.subscribe((value) => seen.push(value));
    live.subscribe((value) => seen.push(value));
    const values = live[Symbol.asyncIterator]();
    const next = values.next();
    live[Symbol.dispose ?? (Symbol.for('Symbol.dispose') as never)]();
    result(1);
    expect(await next).toEqual({ done: true, value: undefined });
    expect([seen, source.stops]).toEqual([[undefined, undefined], 1]);
    // The source runs again, for another listener alone.
    const other: unknown[] = [];
    live.subscribe((value) => other.push(value));
    result(2);
    expect([other, seen]).toEqual([
      [undefined, 2],
      [undefined, undefined],
    ]);
    expect(await values.next()).toEqual({ done: true, value: undefined });
  });
});

describe('an iterator', () => {
  test('[LIVE7] gives the latest value only, to a slow consumer', async () => {
    const { live, result } = create();
    const values = live[Symbol.asyncIterator]();
    const first = values.next();
    result(1);
    expect(await first).toEqual({ done: false, value: 1 });
    result(2);
    result(3);
    expect(await values.next()).toEqual({ done: false, value: 3 });
    const waiting = [values.next(), values.next()];
    result(4);
    result(5);
    expect(await Promise.all(waiting)).toMatchObject([{ value: 4 }, { value: 5 }]);
  });

  test('[LIVE7] begins with the value that is known', async () => {
    const { live, result } = create();
    live.subscribe(() => {});
    result(1);
    expect(await live[Symbol.asyncIterator]().next()).toMatchObject({ value: 1 });
  });

  test('[LIVE4] throws an error, and has then ended; another one goes on', async () => {
    const { live, source, result } = create();
    const values = live[Symbol.asyncIterator]();
    const next = values.next();
    const error = new Error('failed');
    source.sink!.failed(error);
    await expect(next).rejects.toBe(error);
    expect(await values.next()).toMatchObject({ done: true });
    expect(source.stops).toBe(1);
    const again = live[Symbol.asyncIterator]().next(); // a new read
    source.sink!.failed(error);
    await expect(again).rejects.toBe(error);
    live.subscribe(() => {}, { onError: () => {} });
    result(2);
    expect(await live[Symbol.asyncIterator]().next()).toMatchObject({ value: 2 });
  });

  test('[LIVE7] leaving the loop stops the source', async () => {
    const { live, source, result } = create();
    setTimeout(() => result(1));
    for await (const value of live) {
      expect(value).toBe(1);
      break;
    }
    expect(source.stops).toBe(1);
  });
});

describe('a kept result', () => {
  test('[LIVE19] is shown as stale until the first result; an equal one changes the status only', () => {
    const { live, source, result } = create();
    const seen: unknown[] = [];
    live.subscribe((value) => seen.push([live.getState().status, value]));
    expect(source.sink!.kept!(serialize({ a: 1 }))).toBe(true);
    const shown = live.getSnapshot();
    result({ a: 1 });
    expect(live.getSnapshot()).toBe(shown);
    result({ a: 2 });
    expect(seen).toEqual([
      ['pending', undefined],
      ['stale', { a: 1 }],
      ['ready', { a: 1 }],
      ['ready', { a: 2 }],
    ]);
  });

  test('[LIVE19] after a result or an error it is not shown', () => {
    for (const isFailed of [false, true]) {
      const { live, source, result } = create();
      live.subscribe(() => {}, { onError: () => {} });
      if (isFailed) source.sink!.failed(new Error('failed'));
      else result(2);
      const state = live.getState();
      expect(source.sink!.kept!(serialize(1))).toBe(true);
      expect(live.getState()).toBe(state);
    }
  });

  test('[LIVE23] that cannot be read is not shown', () => {
    const { live, source } = create();
    live.subscribe(() => {});
    expect(source.sink!.kept!(new Uint8Array([255, 1, 2]))).toBe(false);
    expect(live.getState().status).toBe('pending');
  });

  test('[LIVE19] is no value of a loop', async () => {
    const { live, source, result } = create();
    const next = live[Symbol.asyncIterator]().next();
    source.sink!.kept!(serialize(1));
    result(2);
    expect(await next).toMatchObject({ value: 2 });
  });
});
