// Sockets of `ctx-storage/socket`, in tabs whose leader closes.

import type { ReconnectingSocket } from '../../src/tools/socket/reconnecting.ts';
import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG } from '../browsers/tags.ts';

declare global {
  interface Window {
    socket?: ReconnectingSocket;
  }
}

test('[SOCK4] a socket goes on when the leading tab closes; a message of the time between arrives', {
  tag: LONG,
}, async ({ context, server }) => {
  const leader = await openBlank(await context.newPage(), server);
  await leader.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    await env.Room.getByName('reconnecting').add(1);
  });
  const follower = await openBlank(await context.newPage(), server);
  await follower.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    const stubOf = () => env.Room.getByName('reconnecting');
    const socket = window.api.reconnecting(stubOf, 'http://room/socket');
    window.socket = socket;
    const seen: string[] = [];
    const show = (text: string) => {
      document.title = [...seen, text].join(', ');
      seen.push(text);
    };
    socket.addEventListener('open', () => show('open'));
    socket.addEventListener('message', ({ data }) => show(String(data)));
    socket.addEventListener('close', ({ code }) => {
      show(`close ${code}`);
      if (socket.readyState === 0) socket.send('between');
    });
    socket.send('one');
  });
  await expect(follower).toHaveTitle('open, heard one');
  await leader.close();
  const through = 'open, heard one, close 1006, open, heard between';
  await expect(follower).toHaveTitle(through);
  await follower.evaluate(() => window.socket!.send('two'));
  await expect(follower).toHaveTitle(`${through}, heard two`);
  await follower.evaluate(() => window.socket!.close(4000, 'done'));
  await expect(follower).toHaveTitle(`${through}, heard two, close 4000`);
});
