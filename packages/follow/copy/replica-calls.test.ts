// Tests the calls of a replica: refused calls that are made again, calls without a forecast, and arguments that are too large.

import { describe, expect, test } from 'vitest';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { MessageToFollower } from '../protocol/messages.ts';
import { endsOfTests } from '../testing/ends.ts';
import { until } from '../testing/followed-device.ts';
import { connect, deviceOf, isCurrent, namesIn, serverOf } from '../testing/replica-device.ts';

const ends = endsOfTests();

describe('a replica', () => {
  test('[FOLP5] a call that was not refused is not made again; a refused one that fails here again stays refused', async () => {
    const server = await serverOf(ends);
    await server.call('add', 'same');
    const { open } = await deviceOf(ends);
    const replica = await open();
    await replica.call('add', ['same']);
    await connect(server, replica);
    await until(() => replica.state.refused === 1);
    expect(await replica.retry(2)).toBeNull();
    const failed = await replica.retry(1); // The copy has the name by now, so the call fails here.
    expect(failed).toMatchObject({ n: null, answer: { kind: 'error' } });
    expect(replica.refusals.map(({ call }) => call.n)).toEqual([1]);
    await replica.dismiss(2);
    expect(replica.state.refused).toBe(1);
    await replica.dismiss(1);
    expect(replica.state.refused).toBe(0);
    expect(await replica.retry(1)).toBeNull();
    await replica.close();
  });

  test('[FOLP17] arguments that the server would not take are refused with their size', async () => {
    const { open } = await deviceOf(ends);
    const replica = await open();
    const call = replica.call('add', ['x'.repeat(2 ** 20)]);
    await expect(call).rejects.toMatchObject({
      code: 'MESSAGE_TOO_LARGE',
      message: expect.stringMatching(
        /^add\(\): the arguments .* have at most \d+ bytes, these \d+\. Pass them in several calls\.$/,
      ),
    });
    expect(replica.state.pending).toBe(0);
    const { message } = await call.catch((error) => error);
    const [most, these] = message.match(/\d+(?= bytes)|\d+(?=\. Pass)/g)!.map(Number);
    const fitting = 2 ** 20 - (these - most);
    await expect(replica.call('add', ['x'.repeat(fitting + 1)])).rejects.toThrow(`${most + 1}.`);
    expect(await replica.call('add', ['x'.repeat(fitting)])).toMatchObject({ n: 1 });
    await replica.close();
  });

  test('[FOLP5] a refused call that changes nothing any more, when it is made again, is refused no longer', async () => {
    const server = await serverOf(ends);
    await server.call('add', 'same');
    const { open } = await deviceOf(ends);
    const replica = await open();
    await replica.call('claim', ['same']);
    await connect(server, replica);
    await until(() => replica.state.refused === 1);
    expect(await replica.retry(1)).toMatchObject({ n: null, answer: { kind: 'error' } });
    expect(replica.state.refused).toBe(1);
    await server.call('add', 'all may have it');
    await until(async () => ((await namesIn(replica)) as string[]).length === 2);
    const again = { n: null, answer: { kind: 'value', value: 'there' } };
    expect(await replica.retry(1)).toEqual(again);
    expect(replica.state).toMatchObject({ pending: 0, refused: 0 });
    await replica.close();
  });

  test('[FOLP5] [FOLW12] a refused call is made again without a forecast, too', async () => {
    const server = await serverOf(ends, {}, 2);
    await server.call('add', 'same');
    const { open } = await deviceOf(ends);
    const replica = await open();
    await replica.call('add', ['same']);
    await connect(server, replica);
    await until(() => replica.state.refused === 1);
    await server.call('clear');
    await until(async () => ((await namesIn(replica)) as string[]).length === 0);
    expect(await replica.retry(1)).toEqual({ n: 2, answer: null });
    await until(() => replica.state.state === 'outdated');
    expect(replica.state.refused).toBe(0);
    expect(await server.call('names')).toEqual(['same']);
    await replica.close();
  });

  test('[FOLP6] a call that only the server can run stays out of every later forecast, and others stay in it', async () => {
    const server = await serverOf(ends);
    await server.call('add', 'theirs');
    const { open, outcomes } = await deviceOf(ends);
    let replica = await open();
    await replica.call('add', ['first']);
    const ended = await replica.call('endUnlessTheirs', ['by the server']);
    expect(ended).toEqual({ n: 2, answer: null });
    await replica.call('add', ['last']);
    expect(await namesIn(replica)).toEqual(['first', 'last']);
    let answers = false;
    const answered = (message: MessageToFollower) =>
      !answers && 'last' in message && message.last > 0 ? null : message;
    await connect(server, replica, answered);
    // On the server's content, the call does not end the object, so it would be wrong to forecast it then.
    await until(async () => ((await namesIn(replica)) as string[])[0] === 'theirs');
    expect(await namesIn(replica)).toEqual(['theirs', 'first', 'last']);
    await replica.close();
    server.drop();
    replica = await open();
    expect(await namesIn(replica)).toEqual(['theirs', 'first', 'last']);
    answers = true;
    await connect(server, replica, answered);
    await until(isCurrent(replica));
    expect(outcomes.get(2)).toMatchObject({ kind: 'value' });
    expect(await namesIn(replica)).toEqual(['theirs', 'first', 'by the server', 'last']);
    await replica.close();
  });

  test('[FOLP13] a replica whose forecast cannot be made is not open, and keeps its calls', async () => {
    const { open, here, ended } = await deviceOf(ends);
    const replica = await open();
    await replica.call('add', ['mine']);
    await replica.close();
    const { branches } = here.host;
    const { fork } = branches;
    const full = storageError('DISK_FULL', 'full by the test');
    branches.fork = async () => {
      throw full;
    };
    await expect(open()).rejects.toBe(full);
    expect(ended).toEqual([full]);
    await here.advance(60_000);
    expect(here.host.instances.running()).toEqual([]);
    branches.fork = fork;
    const again = await open();
    expect(again.state.pending).toBe(1);
    expect(await namesIn(again)).toEqual(['mine']);
    await again.close();
  });
});
