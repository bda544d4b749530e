// Tests functions that pages pass to objects, while pages open and close, objects are evicted, and leaders die. A
// subscriber gets every event, or its page is told that the subscription has ended.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type FakeTab, FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { Namespaces } from '../../../worker/objects/calls/namespaces.ts';
import { PageSessions } from '../../../worker/objects/sessions/page-sessions.ts';
import { DurableObject } from '../../../worker/realm/library/library.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import type { RpcStub } from '../../shared/contract/object.ts';

type Listener = (event: number) => void;

class Room extends DurableObject {
  readonly #listeners = new Set<RpcStub<Listener>>();

  join(listener: RpcStub<Listener>): void {
    const mine = listener.dup();
    mine.onRpcBroken(() => this.#listeners.delete(mine));
    this.#listeners.add(mine);
  }
  async say(event: number): Promise<void> {
    await Promise.allSettled([...this.#listeners].map((listener) => listener(event)));
  }
}

const ROOMS = ['a', 'b'];
const TABS = 3;

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('join'),
      tab: fc.nat(TABS - 1),
      room: fc.nat(1),
      watches: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('say'), tab: fc.nat(TABS - 1), room: fc.nat(1) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('rest'), ms: fc.integer({ min: 1, max: 40_000 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('evict'), room: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave'), tab: fc.nat(TABS - 1) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash') }) },
) as fc.Arbitrary<Step>;

type Step =
  | {
      readonly kind: 'join';
      readonly tab: number;
      readonly room: number;
      readonly watches: boolean;
    }
  | { readonly kind: 'say'; readonly tab: number; readonly room: number }
  | { readonly kind: 'rest'; readonly ms: number }
  | { readonly kind: 'evict'; readonly room: number }
  | { readonly kind: 'leave'; readonly tab: number }
  | { readonly kind: 'crash' };

interface Subscriber {
  readonly tab: FakeTab;
  readonly room: number;
  readonly heard: number[];
  readonly watches: boolean;
  /** True if the subscriber was told of its end, or did not ask to be told. */
  isOver: boolean;
}

/** Performs the steps on tabs and objects. */
class Play {
  readonly #host: TestHost;
  readonly #tabs: FakeTabs;
  readonly #pages: FakeTab[];
  readonly #subscribers: Subscriber[] = [];
  #events = 0;

  private constructor(host: TestHost, tabs: FakeTabs) {
    this.#host = host;
    this.#tabs = tabs;
    this.#pages = Array.from({ length: TABS }, () => tabs.tab());
  }

  static async begin(): Promise<Play> {
    let namespaces: Namespaces | undefined;
    const host = await createTestHost({}, { Room }, (instance) => namespaces!.bindings(instance));
    namespaces = new Namespaces(host.host, {});
    const { calls } = namespaces;
    return new Play(
      host,
      new FakeTabs(runCandidate, () => calls, new PageSessions(host.host, () => () => {})),
    );
  }

  async perform(step: Step): Promise<void> {
    switch (step.kind) {
      case 'join':
        return this.#join(this.#pages[step.tab]!, step);
      case 'say':
        return this.#say(this.#pages[step.tab]!, step.room);
      case 'rest':
        return this.#host.advance(step.ms);
      case 'evict':
        await this.#host.host.evict(this.#host.address(ROOMS[step.room]));
        this.#lose(({ room, watches }) => room === step.room && !watches);
        return turns(20);
      case 'leave':
        return this.#replace(step.tab);
      case 'crash':
        return this.#replace(this.#pages.findIndex((tab) => tab.host !== null));
    }
  }

  async end(): Promise<void> {
    await this.#tabs.close();
    await this.#host.close();
  }

  #lose(isLost: (subscriber: Subscriber) => boolean): void {
    for (const subscriber of this.#subscribers) if (isLost(subscriber)) subscriber.isOver = true;
  }

  async #room(tab: FakeTab, room: number) {
    const { env } = await tab.connect<{ Room: Room }>();
    return env.Room.getByName(ROOMS[room]!);
  }

  async #join(tab: FakeTab, { room, watches }: { room: number; watches: boolean }): Promise<void> {
    const subscriber: Subscriber = { tab, room, watches, heard: [], isOver: false };
    const stub = await this.#room(tab, room);
    await stub.join((event) => void subscriber.heard.push(event));
    const told = () => {
      subscriber.isOver = true;
    };
    if (watches) stub.onRpcBroken(told);
    await turns(20);
    this.#subscribers.push(subscriber);
  }

  /** Sends an event, which every subscriber gets that was not told of its end. */
  async #say(tab: FakeTab, room: number): Promise<void> {
    const event = ++this.#events;
    const before = this.#subscribers.filter((other) => other.room === room && !other.isOver);
    await (await this.#room(tab, room)).say(event);
    await turns(20);
    for (const { heard } of before) expect(heard.filter((one) => one === event)).toEqual([event]);
  }

  /** Closes the tab, with its subscribers, and opens another one. */
  async #replace(index: number): Promise<void> {
    if (index < 0) return; // nobody leads yet
    const gone = this.#pages[index]!;
    const led = gone.host !== null;
    if (led) this.#lose(({ watches }) => !watches);
    gone.close();
    // The memory of its worker is gone with it; the test's host outlives all workers.
    if (led)
      for (const room of ROOMS)
        await this.#host.host.reset(this.#host.address(room), new Error('gone'));
    this.#pages[index] = this.#tabs.tab();
    this.#lose(({ tab }) => tab === gone);
    await turns(50);
  }
}

test('[STUB37] a subscriber hears every event, or its page is told that the subscription has ended', {
  tags: 'long',
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), async (steps) => {
      const play = await Play.begin();
      try {
        for (const step of steps) await play.perform(step);
      } finally {
        await play.end();
      }
    }),
    { numRuns: 4 },
  );
});
