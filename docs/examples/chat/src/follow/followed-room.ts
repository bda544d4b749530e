// Rooms of this browser that follow those on the server.

import { connect, live } from 'ctx-storage';
import { followed } from 'ctx-storage/follow';
import type { FollowedRoom, Message } from '../message.ts';

const STATES = {
  offline: 'Offline',
  catchingUp: 'Catching up',
  current: 'Connected',
  outdated: 'New version: load the page again',
  stopped: 'Stopped: load the page again',
};

const start = () => new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });

export async function openFollowed(
  room: string,
  show: (messages: Message[]) => void,
  tell: (status: string) => void,
) {
  const { env } = await connect<{ Room: FollowedRoom }>(start);
  const stub = env.Room.getByName(room);
  live(stub)
    .messages()
    .subscribe((messages = []) => show(messages), { onError: (error) => tell(String(error)) });
  const status = followed(stub);
  const tellState = () => {
    const { state, pending, reason } = status;
    if (reason === 'NOT_AUTHORIZED') return tell('Signed out: sign in again');
    tell(pending === 0 ? STATES[state] : `${STATES[state]}, ${pending} to send`);
  };
  status.addEventListener('change', tellState);
  tellState();
  return stub;
}
