// A class with sockets of both kinds, its own questions about them, and its callers.

interface Bases {
  readonly DurableObject: new (ctx: never, env: never) => object;
}

/** The type of values that come from either engine. */
// biome-ignore lint/suspicious/noExplicitAny: the same code meets two engines, without their types
type Untyped = any;

declare const WebSocketPair: new () => Untyped;
declare const WebSocketRequestResponsePair: new (...parameters: unknown[]) => Untyped;

/** The class `Line`. */
export function lineOf({ DurableObject }: Bases) {
  return class Line extends DurableObject {
    declare readonly ctx: Untyped;
    #heard: unknown[] = [];

    async fetch(request: Request) {
      const { 0: client, 1: server } = new WebSocketPair();
      if (new URL(request.url).pathname === '/kept') {
        this.ctx.acceptWebSocket(server, ['one', 'two']);
        server.serializeAttachment({ since: new Date(3) });
      } else {
        server.accept();
        for (const type of ['message', 'close']) {
          server.addEventListener(type, ({ data, code, reason, wasClean }: Untyped) => {
            this.#heard.push(type === 'message' ? data : [code, reason, wasClean]);
            if (type === 'message') server.send(`heard ${data}`);
          });
        }
      }
      return new Response(null, { status: 101, webSocket: client } as ResponseInit);
    }
    async webSocketMessage(socket: Untyped, message: string) {
      const { ctx } = this;
      const answers: Record<string, () => unknown> = {
        attachment: () => socket.deserializeAttachment(),
        tags: () => [ctx.getTags(socket), ctx.getWebSockets('two').length],
        same: () => ctx.getWebSockets().includes(socket),
        state: () => [socket.readyState, socket.OPEN],
      };
      if (message === 'end') socket.close(4001, 'ended');
      else socket.send(JSON.stringify(answers[message]?.() ?? message));
    }
    async webSocketClose(socket: Untyped, code: number, reason: string, wasClean: boolean) {
      this.#heard.push([code, reason, wasClean, socket.readyState]);
      if (socket.readyState < 3) socket.close(code === 1005 ? 1000 : code, 'answered');
    }
    heard() {
      return this.#heard;
    }
    async askAll() {
      const seen: Record<string, unknown> = {};
      for (const [what, ask] of Object.entries(OWN_ASKS)) {
        try {
          seen[what] = (await ask(this.ctx)) ?? 'nothing';
        } catch (error) {
          seen[what] = (error as Error).name;
        }
      }
      return seen;
    }
  };
}

type OwnAsk = (ctx: Untyped, pair?: Untyped) => unknown;

/** A socket that was accepted, and the one it faces. */
function accepted(): Untyped[] {
  const { 0: one, 1: other } = new WebSocketPair();
  one.accept();
  return [one, other];
}

function kept(ctx: Untyped, ...tags: unknown[]): Untyped {
  const { 0: one } = new WebSocketPair();
  ctx.acceptWebSocket(one, ...tags);
  return one;
}

const OWN_ASKS: Readonly<Record<string, OwnAsk>> = {
  'a new pair': () => {
    const pair = new WebSocketPair();
    const [{ readyState, url, protocol, extensions }] = Object.values(pair) as Untyped[];
    return [
      Object.keys(pair),
      String(pair),
      String(pair[0]),
      readyState,
      url,
      protocol,
      extensions,
    ];
  },
  'its names': () => {
    const [one] = accepted();
    return [one instanceof WebSocket, WebSocket.OPEN, one.OPEN, one.CLOSED];
  },
  'sending before it is accepted': () => new WebSocketPair()[0].send('x'),
  'closing before it is accepted': () => new WebSocketPair()[0].close(),
  'accepting twice': () => accepted()[0].accept(),
  'keeping an accepted one': (ctx) => ctx.acceptWebSocket(accepted()[0]),
  'accepting a kept one': (ctx) => kept(ctx).accept(),
  'keeping one twice': (ctx) => ctx.acceptWebSocket(kept(ctx)),
  'keeping both ends': (ctx) => {
    const pair = new WebSocketPair();
    ctx.acceptWebSocket(pair[0]);
    ctx.acceptWebSocket(pair[1]);
  },
  'keeping what is not a socket': (ctx) => ctx.acceptWebSocket({}),
  'keeping nothing': (ctx) => ctx.acceptWebSocket(),
  'eleven tags': (ctx) => kept(ctx, Array.from('elevenletter', String).slice(0, 11)).readyState,
  'eleven different tags': (ctx) =>
    kept(
      ctx,
      Array.from({ length: 11 }, (_, i) => `tag ${i}`),
    ),
  'a tag twice': (ctx) => ctx.getTags(kept(ctx, ['a', 'a'])),
  'a number as a tag': (ctx) => ctx.getTags(kept(ctx, [5])),
  'a long tag': (ctx) => kept(ctx, ['x'.repeat(257)]),
  'a string as tags': (ctx) => kept(ctx, 'abc'),
  'tags of one that is not kept': (ctx) => ctx.getTags(accepted()[0]),
  'an attachment': (ctx) => {
    const one = kept(ctx);
    const before = one.deserializeAttachment();
    one.serializeAttachment({ a: [1] });
    return [before, one.deserializeAttachment()];
  },
  'an attachment before keeping': (ctx) => {
    const { 0: one } = new WebSocketPair();
    one.serializeAttachment(7);
    ctx.acceptWebSocket(one);
    return one.deserializeAttachment();
  },
  'a large attachment': (ctx) => kept(ctx).serializeAttachment('x'.repeat(16_384)),
  'a function as an attachment': (ctx) => kept(ctx).serializeAttachment(() => 1),
  'code 999': () => accepted()[0].close(999),
  'code 1005': () => accepted()[0].close(1005),
  'code 2999': () => {
    const [one] = accepted();
    one.close(2999);
    return one.readyState;
  },
  'a reason without a code': () => accepted()[0].close(undefined, 'why'),
  'a long reason': () => accepted()[0].close(3000, 'r'.repeat(124)),
  'closing twice': () => {
    const [one] = accepted();
    one.close(1000);
    one.close(1000);
    return one.readyState;
  },
  'sending after closing': () => {
    const [one] = accepted();
    one.close(1000);
    one.send('x');
  },
  'sending an object': () => accepted()[0].send({}),
  'sending nothing': () => accepted()[0].send(),
  'what was sent before accepting': async () => {
    const [one, other] = accepted();
    one.send('early');
    const heard = new Promise((resolve) => {
      other.addEventListener('message', ({ data }: Untyped) => resolve(data));
    });
    other.accept();
    return heard;
  },
  'a talk within the object': async () => {
    const [one, other] = accepted();
    other.accept();
    const heard: unknown[] = [];
    const closed = new Promise((resolve) => {
      other.addEventListener('message', ({ data }: Untyped) => heard.push(data));
      other.addEventListener('close', ({ code, reason }: Untyped) => resolve([code, reason]));
    });
    one.send('a');
    one.send('b');
    one.close(1000, 'bye');
    return [await closed, heard];
  },
  'an automatic answer': (ctx) => {
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('ping', 'pong'));
    const { request, response } = ctx.getWebSocketAutoResponse();
    ctx.setWebSocketAutoResponse();
    return [request, response, ctx.getWebSocketAutoResponse()];
  },
  'null as an automatic answer': (ctx) => ctx.setWebSocketAutoResponse(null),
  'half an automatic answer': () => new WebSocketRequestResponsePair('ping'),
  'an automatic answer of another kind': (ctx) =>
    ctx.setWebSocketAutoResponse({ request: 'a', response: 'b' }),
  'a limit of time': (ctx) => {
    ctx.setHibernatableWebSocketEventTimeout(1000);
    return ctx.getHibernatableWebSocketEventTimeout();
  },
  'a negative limit': (ctx) => ctx.setHibernatableWebSocketEventTimeout(-1),
  'a limit of more than a week': (ctx) => ctx.setHibernatableWebSocketEventTimeout(604_800_001),
  'a response with a socket and another status': () =>
    new Response(null, { status: 200, webSocket: accepted()[1] } as ResponseInit),
  'a response of 101 without one': () => new Response(null, { status: 101 }),
};

/** The messages that clients of lines of both kinds get. */
export async function callAll(lines: Untyped): Promise<Record<string, unknown>> {
  const seen: Record<string, unknown> = await lines.getByName('own').askAll();
  for (const kind of ['plain', 'kept']) {
    const line = lines.getByName(kind);
    const { socket, heard, closed } = await dial(line, kind);
    for (const message of ['words', 'attachment', 'tags', 'same', 'state']) socket.send(message);
    await until(() => heard.length === 5);
    socket.close(4000, 'mine');
    seen[`${kind}: a talk`] = [heard, await closed, socket.readyState];
    await until(async () => (await line.heard()).length > 0);
    seen[`${kind}: what the object heard`] = await line.heard();
  }
  for (const kind of ['plain', 'kept']) {
    const { socket, heard, closed } = await dial(lines.getByName(`${kind} in a hurry`), kind);
    // The messages arrive together, and each is answered before the close is handled.
    for (const message of ['words', 'state', 'state']) socket.send(message);
    socket.close(4000, 'mine');
    seen[`${kind}: messages right before a close`] = [await closed, heard, socket.readyState];
  }
  const line = lines.getByName('ended');
  const { socket, closed } = await dial(line, 'kept');
  socket.send('end');
  seen['ended by the object'] = await closed;
  await until(async () => (await line.heard()).length > 0);
  seen['ended by the object: what it heard'] = await line.heard();
  seen['without asking for an upgrade'] = await lines
    .getByName('not asked')
    .fetch('http://line/kept')
    .catch(({ name }: Error) => name);
  return seen;
}

async function dial(line: Untyped, kind: string) {
  const { webSocket: socket } = await line.fetch(`http://line/${kind}`, {
    headers: { Upgrade: 'websocket' },
  });
  const heard: unknown[] = [];
  const closed = new Promise((resolve) => {
    socket.addEventListener('message', ({ data }: Untyped) => heard.push(data));
    socket.addEventListener('close', ({ code, reason, wasClean }: Untyped) =>
      resolve([code, reason, wasClean]),
    );
  });
  socket.accept();
  return { socket, heard, closed };
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 5));
}
