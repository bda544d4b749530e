// The test's requests to a room, step by step, and its messages: the same code next to both engines.

interface Message {
  readonly id: number;
  readonly author: string;
  readonly text: string;
  readonly at: number;
}

interface Socket {
  accept(): void;
  send(text: string): void;
  close(code: number, reason: string): void;
  addEventListener(type: 'message', listener: (event: { readonly data: string }) => void): void;
}

interface RoomStub {
  post(author: string, text: string): Promise<Message>;
  messages(limit?: number): Promise<Message[]>;
  topic(): Promise<string>;
  setTopic(topic: string): Promise<void>;
  keep(durationMs: number): Promise<void>;
  forgetsAt(): Promise<number | null>;
  takeBack(author: string): Promise<number>;
  fetch(
    url: string,
    init?: RequestInit,
  ): Promise<Response & { readonly webSocket?: Socket | null }>;
}

/** The namespace of the class. */
export interface Rooms {
  getByName(name: string): RoomStub;
  idFromName(name: string): { toString(): string };
}

/** Longer than the conversation on any machine. */
const KEEP_MS = 600_000;
const SHORT_KEEP_MS = 200;
const ADDRESS = 'http://room/';

/** Everything that was seen; times are left out. */
export async function converse(rooms: Rooms): Promise<unknown[]> {
  const seen: unknown[] = [];
  const room = rooms.getByName('lobby');
  seen.push(rooms.idFromName('lobby').toString());
  seen.push(await room.topic());
  await room.setTopic('Engines');
  await room.keep(KEEP_MS);
  seen.push(
    await Promise.all(['a', 'b', 'c'].map(async (text) => timeless(await room.post('ann', text)))),
  );
  seen.push(await refusal(room.post('ann', ' ')));
  seen.push(await refusal(room.takeBack('ann')));
  const first = await room.messages();
  seen.push(first.map(timeless));

  const { webSocket } = await room.fetch(`${ADDRESS}?author=bob`, {
    headers: { Upgrade: 'websocket' },
  });
  const heard: unknown[] = [];
  webSocket!.addEventListener('message', ({ data }) => heard.push(timeless(JSON.parse(data))));
  webSocket!.accept();
  webSocket!.send('by socket');
  const posted = await room.fetch(ADDRESS, {
    method: 'POST',
    body: JSON.stringify({ author: 'eve', text: 'by fetch' }),
  });
  seen.push(posted.status, timeless(await posted.json()));
  await until(() => heard.length === 2);
  seen.push(heard);
  seen.push(await room.takeBack('bob'));
  const shown = (await (await room.fetch(ADDRESS)).json()) as {
    topic: string;
    messages: Message[];
  };
  seen.push(shown.topic, shown.messages.map(timeless), await room.messages(1).then(texts));

  const forgetsAt = await room.forgetsAt();
  // Compare by the room's own clock, because the clock of a page may show another time.
  seen.push(forgetsAt === first[0]!.at + KEEP_MS);
  webSocket!.close(1000, 'done');
  seen.push(await forgetting(rooms.getByName('hall')));
  return seen;
}

/** The visible state of a room whose messages are soon forgotten, once they are. */
async function forgetting(room: RoomStub): Promise<unknown[]> {
  await room.keep(SHORT_KEEP_MS);
  const posted = timeless(await room.post('ann', 'soon forgotten'));
  await until(async () => (await room.messages()).length === 0);
  return [posted, await room.forgetsAt()];
}

function timeless({ id, author, text }: Message) {
  return { id, author, text };
}

function texts(messages: Message[]): string[] {
  return messages.map(({ text }) => text);
}

async function refusal(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'no refusal',
    (error: Error) => `${error.name}: ${error.message}`,
  );
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20));
}
