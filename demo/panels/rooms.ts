// The rooms of the objects panel: hosted objects of the class in demo/objects/room.ts, which is
// written for workerd and runs here unchanged.
//
// The worker that hosts them is started when the panel is first shown. A WebSocket
// announces new messages, also those of other tabs.

import startObjects from 'virtual:ctx-storage/start';
import { signal } from '@preact/signals';
import { connect } from '../../src/index.ts';
import { type Problem, problemOf } from '../ui/problem.ts';

export interface Message {
  readonly id: number;
  readonly author: string;
  readonly text: string;
  readonly at: number;
}

/** The public methods of the class. */
interface Room {
  post(author: string, text: string): Promise<Message>;
  messages(limit?: number): Promise<Message[]>;
  topic(): Promise<string>;
  setTopic(topic: string): Promise<void>;
  forgetsAt(): Promise<number | null>;
}

export interface RoomSummary {
  readonly name: string;
  readonly sizeBytes: number;
  readonly nextAlarm: number | null;
}

export interface OpenRoom {
  readonly name: string;
  readonly topic: string;
  readonly messages: readonly Message[];
  readonly forgetsAt: number | null;
}

const connected = () => connect<{ ROOM: Room; Room: Room }>(startObjects, { directory: 'rooms' });

let connecting: ReturnType<typeof connected> | undefined;

export const rooms = signal<readonly RoomSummary[] | null>(null);
export const room = signal<OpenRoom | null>(null);
/** The time of the objects while their clock is stopped; null while it is the system's. */
export const heldTime = signal<number | null>(null);
export const problem = signal<Problem | null>(null);

/** Reads the list, and the open room. */
export async function refreshRooms(): Promise<void> {
  await attempt(async () => {
    const { list } = await objects();
    rooms.value = (await list('Room')).map(({ id, sizeBytes, nextAlarm }) => ({
      name: id.name ?? id.toString(),
      sizeBytes,
      nextAlarm,
    }));
    if (room.value !== null) room.value = await read(room.value.name);
  });
}

export async function openRoom(name: string): Promise<void> {
  await attempt(async () => {
    room.value = await read(name);
    await listen(name);
  });
}

export function closeRoom(): void {
  socket?.close(1000);
  socket = null;
  room.value = null;
  void refreshRooms();
}

export async function post(text: string): Promise<boolean> {
  const name = room.value?.name;
  if (name === undefined) return false;
  return attempt(async () => {
    await (await stubOf(name)).post('me', text);
    await refreshRooms();
  });
}

export async function deleteRoom(name: string): Promise<void> {
  await attempt(async () => {
    const objectsHere = await objects();
    await objectsHere.deleteObject(await stubOf(name));
    await refreshRooms();
  });
}

export async function advanceClock(durationMs: number): Promise<void> {
  await attempt(async () => {
    const { clock } = await objects();
    await clock.advance(durationMs);
    heldTime.value = await clock.now();
    await refreshRooms();
  });
}

export async function resumeClock(): Promise<void> {
  await attempt(async () => {
    const { clock } = await objects();
    await clock.resume();
    heldTime.value = null;
    await refreshRooms();
  });
}

let socket: { close(code: number): void } | null = null;

async function listen(name: string): Promise<void> {
  socket?.close(1000);
  const headers = { Upgrade: 'websocket' };
  const { webSocket } = await (await stubOf(name)).fetch('http://room/?author=me', { headers });
  if (!webSocket) throw new Error('The room did not accept the WebSocket.');
  socket = webSocket;
  webSocket.addEventListener('message', () => void refreshRooms());
  webSocket.accept();
}

async function read(name: string): Promise<OpenRoom> {
  const stub = await stubOf(name);
  const [topic, messages, forgetsAt] = await Promise.all([
    stub.topic(),
    stub.messages(),
    stub.forgetsAt(),
  ]);
  return { name, topic, messages, forgetsAt };
}

async function stubOf(name: string) {
  return (await objects()).env.ROOM.getByName(name);
}

async function objects() {
  connecting ??= connected();
  try {
    return await connecting;
  } catch (error) {
    connecting = undefined;
    throw error;
  }
}

async function attempt(action: () => Promise<void>): Promise<boolean> {
  try {
    await action();
    problem.value = null;
    return true;
  } catch (error) {
    problem.value = problemOf(error);
    return false;
  }
}
