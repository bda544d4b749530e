// Alarms and sockets of classes in browsers: they outlive the page, the browser and the worker.

import { openBlank, whenLoaded } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, RELEASE, REST } from '../browsers/tags.ts';

test('[CAT4] an alarm outlives the browser, and runs without a call of its object', {
  tag: LONG,
}, async ({ profile, server }) => {
  const first = await openBlank(await (await profile.launch()).newPage(), server);
  await first.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    await env.Room.getByName('soon').remind(10);
    await env.Room.getByName('later').remind(86_400_000);
  });
  await profile.quit();
  const second = await openBlank(await (await profile.launch()).newPage(), server);
  const seen = await second.evaluate(async () => {
    const { env, list, clock } = await window.api.connectRooms();
    const alarms = async () =>
      (await list('Room')).map(({ id, nextAlarm }) => [id.name, nextAlarm]);
    // A call of the object would open it; the list does not.
    let listed = await alarms();
    while (listed.filter(([, time]) => time !== null).length > 1) listed = await alarms();
    const soon = await env.Room.getByName('soon').remindedAt();
    const ran = await clock.runNextAlarm();
    return { soon: typeof soon, ran: ran?.id.name, next: await clock.runNextAlarm() };
  });
  expect(seen).toEqual({ soon: 'number', ran: 'later', next: null });
});

test('[CAT5] the alarm of a killed tab is run by the next worker', { tag: REST }, async ({
  context,
  server,
}) => {
  const one = await openBlank(await context.newPage(), server);
  await one.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    await env.Room.getByName('a').remind(1500);
  });
  const two = await openBlank(await context.newPage(), server);
  await two.evaluate(() => window.api.connectRooms());
  await one.close();
  const remindedAt = await two.evaluate(async () => {
    const { list } = await window.api.connectRooms();
    for (;;) {
      const found = await list('Room').catch(() => []); // the old worker may still be on its way out
      if (found.length === 1 && found[0]!.nextAlarm === null) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { env } = await window.api.connectRooms();
    return env.Room.getByName('a').remindedAt();
  });
  expect(remindedAt).toBeGreaterThan(0);
});

test('[AL15] an alarm that a restore brings back rings, in a browser too', {
  tag: [LONG, RELEASE],
}, async ({ storagePage }) => {
  const remindedAt = await storagePage.evaluate(async () => {
    const { env, list, storage } = await window.api.connectRooms();
    const room = env.Room.getByName('restored');
    await room.remind(2000);
    const handle = await storage(room);
    const bookmark = await handle.getCurrentBookmark();
    await room.remind(86_400_000);
    await handle.restore(bookmark);
    while ((await list('Room')).some(({ nextAlarm }) => nextAlarm !== null)) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return room.remindedAt();
  });
  expect(remindedAt).toBeGreaterThan(0);
});

test('[CLOCK2] a reload gives the system’s time back; object code saw the other', {
  tag: REST,
}, async ({ storagePage }) => {
  const year = await storagePage.evaluate(async () => {
    const { env, clock } = await window.api.connectRooms();
    await clock.set(Date.UTC(2050, 0, 1));
    const room = env.Room.getByName('clock');
    await room.remind(60_000);
    await clock.advance(60_000);
    return new Date((await room.remindedAt())!).getUTCFullYear();
  });
  expect(year).toBe(2050);
  await storagePage.reload();
  await whenLoaded(storagePage);
  const offMs = await storagePage.evaluate(async () => {
    const { clock } = await window.api.connectRooms();
    return Math.abs((await clock.now()) - Date.now());
  });
  expect(offMs).toBeLessThan(10_000);
});

test('[WS12] a socket outlives the eviction of its object, also in another tab', {
  tag: REST,
}, async ({ context, server }) => {
  const leader = await openBlank(await context.newPage(), server);
  await leader.evaluate(() => window.api.connectRooms());
  const follower = await openBlank(await context.newPage(), server);
  const heard = await follower.evaluate(async () => {
    const { env, clock } = await window.api.connectRooms();
    const room = env.Room.getByName('evicted');
    const { webSocket } = await room.fetch('http://room/socket', {
      headers: { Upgrade: 'websocket' },
    });
    if (!webSocket) throw new Error('The response carries no socket.');
    const messages: string[] = [];
    let arrived = () => {};
    webSocket.addEventListener('message', (event) => {
      messages.push((event as MessageEvent).data);
      arrived();
    });
    webSocket.accept();
    const ask = (message: string) =>
      new Promise<void>((resolve) => {
        arrived = resolve;
        webSocket.send(message);
      });
    await ask('one');
    const before = await room.made();
    await clock.advance(20_000);
    await ask('two');
    return { messages, wasMadeAgain: (await room.made()) !== before };
  });
  expect(heard).toEqual({ messages: ['heard one', 'heard two'], wasMadeAgain: true });
  await follower.close();
  // The tab is gone without notice.
  await expect
    .poll(() =>
      leader.evaluate(async () => {
        const { env } = await window.api.connectRooms();
        return env.Room.getByName('evicted').closed();
      }),
    )
    .toBe('1006 ');
});
