// Short stories of the objects, the candidates, the page and the copies, each of which runs into a defect (defects.ts).
//
// Invariant: without a defect, a scenario sees no error; each of its calls settles.

import { toWireAddress } from '../../../src/shared/calls/stubs/wire-address.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { branchAddress } from '../../../src/shared/contract/object-id.ts';
import type { DurableObjectStorage } from '../../../src/shared/contract/storage.ts';
import { encodeValue } from '../../../src/shared/values/value.ts';
import type { Outcome } from '../../../src/shared/wire/errors-on-wire.ts';
import type { Call } from '../../../src/shared/wire/operations.ts';
import { Clock } from '../../../worker/objects/clock/clock.ts';
import { PageSessions } from '../../../worker/objects/sessions/page-sessions.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import { Capture } from '../../follow/capture/capture.ts';
import { encodeChanges } from '../../follow/changes/changes-bytes.ts';
import { FollowLink } from '../../follow/copy/link.ts';
import type { Replica } from '../../follow/copy/replica.ts';
import { FakeTabs } from '../page/fake-tabs.ts';
import { createTestHost } from '../worker/test-host.ts';

/** Is told of each error that users would see. */
type See = (error: unknown) => void;

const nextTurn = () => new Promise<void>((resolve) => void setImmediate(resolve));

/** Opens handles in tabs, each of which then reads. */
async function openInTurn(tabs: FakeTabs, builds: readonly (number | undefined)[], see: See) {
  const handles = [];
  for (const build of builds) {
    const handle = await tabs.tab(build === undefined ? {} : { build }).open();
    handle.addEventListener('statechange', () => {
      const { stateReason } = handle;
      if (stateReason !== null && 'code' in stateReason && stateReason.code === 'INTERNAL') {
        see(stateReason);
      }
    });
    handles.push(handle);
  }
  for (const handle of handles) await handle.get('a').catch(see);
  await tabs.close();
}

const outcomesOf = (see: See) => (outcomes: Outcome[]) => {
  for (const outcome of outcomes) {
    if ('error' in outcome && !isReset(outcome)) see(new Error(outcome.error.message));
  }
};

const isReset = ({ error }: { readonly error: { readonly message: string } }) =>
  error.message.includes('by the scenario');

export const SCENARIOS = {
  async 'nested sections'(see: See) {
    const host = await createTestHost();
    let open = () => {};
    const isOpen = new Promise<void>((resolve) => (open = resolve));
    let inner: Promise<unknown> = Promise.resolve();
    await host
      .run((state) =>
        state.blockConcurrencyWhile(async () => {
          inner = state.storage.transaction(async () => {
            open();
            for (let turn = 0; turn < 5; turn++) await state.storage.get('a');
          });
          inner.catch(() => {});
          await isOpen;
        }),
      )
      .catch(see);
    await host.close();
  },

  async 'an event in an event'(see: See) {
    const host = await createTestHost();
    let inner: Promise<unknown> | undefined;
    const outer = host.host.deliver(host.address(), (instance) => {
      inner = instance.deliver(() => {}).catch(see);
    });
    await outer.catch(see);
    await inner;
    await host.close();
  },

  async 'a reset'(see: See) {
    const host = await createTestHost();
    await host.run(() => {});
    await host.turns(5);
    await host.host.reset(host.address(), new Error('by the scenario'));
    await host.advance(60_000).catch(see);
    await host.close();
  },

  async 'a deleted alarm'(see: See) {
    class Woken extends DurableObject {
      alarm() {}
    }
    const host = await createTestHost({}, { Woken });
    await host.run(({ storage }) => storage.setAlarm(host.now() + 1000));
    await host.run(({ storage }) => storage.deleteAlarm());
    await host.advance(60_000).catch(see);
    await host.close();
  },

  async 'a stopped clock'(see: See) {
    const waiting: (() => void)[] = [];
    const clock = new Clock({
      now: () => 1000,
      elapsed: () => 1000,
      after: (_delayMs, task) => {
        waiting.push(task);
        return () => void waiting.splice(waiting.indexOf(task), 1);
      },
    });
    for (let timer = 0; timer < 2; timer++) clock.at(1000, () => {});
    waiting.shift()!(); // the first runs; the second is about to
    const settled = async () => {};
    await clock.set(500, settled).catch(see);
    await clock.set(600, settled).catch(see);
  },

  async 'a batch and a reset'(see: See) {
    const host = await createTestHost();
    const sessions = new PageSessions(host.host, () => () => {});
    const opened = (await sessions.open('object')) as { readonly ok: number };
    host.holdFlushes();
    const entries = [['a', encodeValue('put', 'a', 1)]];
    const put = { op: 'put', entries, unconfirmed: false } as unknown as Call;
    const outcomes = Promise.resolve(sessions.execute(opened.ok, [put]));
    await nextTurn();
    const reason = storageError('OBJECT_RESET', 'by the scenario');
    void host.host.reset(host.address(), reason);
    host.releaseFlushes();
    outcomesOf(see)(await outcomes);
    await host.close();
  },

  async 'a session on a branch'(see: See) {
    const host = await createTestHost();
    await host.run(({ storage }) => storage.put('a', 1));
    const sessions = new PageSessions(host.host, () => () => {});
    const request = { at: null, name: null, isKept: false, sends: false };
    const { id } = await host.host.deliver(host.address(), (instance) =>
      host.host.branches.fork(instance, request),
    );
    const branch = branchAddress(host.address(), id);
    const opened = (await sessions.open(toWireAddress(branch))) as { readonly ok: number };
    await sessions.close(opened.ok).catch(see);
    await sessions.close(opened.ok).catch(see);
    await host.close();
  },

  async 'a tab'(see: See) {
    const tabs = new FakeTabs(runCandidate);
    const tab = tabs.tab();
    const isOpen = tab.open().then(() => true, see);
    const isLater = () => nextTurn().then(() => 'later');
    // A page whose worker has failed waits whether another tab leads.
    while ((await Promise.race([isOpen, isLater()])) === 'later') tab.advance(100);
    await tabs.close();
  },

  async 'three tabs'(see: See) {
    await openInTurn(new FakeTabs(runCandidate), [undefined, undefined, undefined], see);
  },

  async 'a newer tab'(see: See) {
    await openInTurn(new FakeTabs(runCandidate), [1, 2], see);
  },

  async 'two handles'(see: See) {
    const tabs = new FakeTabs(runCandidate);
    const tab = tabs.tab();
    await Promise.all([tab.open('a').catch(see), tab.open('b').catch(see)]);
    await tabs.close();
  },

  async 'two transactions'(see: See) {
    const tabs = new FakeTabs(runCandidate);
    const handle = await tabs.tab().open();
    const transaction = () => handle.transaction(async (txn) => void (await txn.put('a', 1)));
    await Promise.all([transaction().catch(see), transaction().catch(see)]);
    await tabs.close();
  },

  async 'a link'(see: See) {
    const timers: (() => void)[] = [];
    const socket = () =>
      Object.assign(new EventTarget(), { binaryType: '', readyState: 0, send() {}, close() {} });
    const replica = { pending: [], connected: () => ({ received() {}, closed() {} }), fail: see };
    const link = new FollowLink(replica as unknown as Replica, {
      open: async () => socket(),
      afterRealTime: (_delayMs, task) => {
        timers.push(task);
        return () => {
          if (timers.includes(task)) timers.splice(timers.indexOf(task), 1);
        };
      },
      random: () => 0.5,
      changed() {},
      isWatched: () => false,
    });
    link.connectNow(); // the first attempt is replaced while its socket is made
    await nextTurn();
    link.stop();
  },

  async 'captured changes'(see: See) {
    const host = await createTestHost();
    await host
      .run(({ storage }) => {
        const captured = storage as unknown as DurableObjectStorage;
        const capture = new Capture(captured, { life: 1, notesMax: 4, onWrite() {} });
        captured.sql.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, x)');
        const before = capture.head();
        for (let id = 0; id < 8; id++) captured.sql.exec('INSERT INTO t VALUES (?, 1)', id);
        capture.head();
        capture.prune(() => before.id);
        encodeChanges(capture.changesSince(before, 2 ** 20)!);
      })
      .catch(see);
    await host.close();
  },
};

export type ScenarioName = keyof typeof SCENARIOS;
