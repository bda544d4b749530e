import { beforeEach, describe, expect, test, vi } from 'vitest';
import { type WebSocket, WebSocketPair } from '../sockets/web-socket.ts';
import { FREE, Party } from '../stubs/party.ts';
import { pairOfReferences, type References } from './references.ts';

const party = new Party(FREE, () => {
  throw new Error('No stub is passed here.');
});

let near: References;
let far: References;
let mine: WebSocket;
let theirs: WebSocket;

/** Accepts the socket, and lists its messages and closes from now on. */
function heardBy(socket: WebSocket): unknown[] {
  const heard: unknown[] = [];
  socket.accept();
  socket.addEventListener('message', (event) => heard.push((event as MessageEvent).data));
  socket.addEventListener('close', (event) => {
    const { code, reason, wasClean } = event as CloseEvent;
    heard.push({ code, reason, wasClean });
  });
  return heard;
}

beforeEach(() => {
  [near, far] = pairOfReferences();
  const pair = new WebSocketPair();
  mine = pair[0];
  const response = new Response();
  Object.defineProperty(response, 'webSocket', { value: pair[1] });
  const arrived = far.receive(near.send(near.draft(response, party)), party) as Response;
  theirs = (arrived as Response & { webSocket: WebSocket }).webSocket;
});

describe('a socket that was passed', () => {
  test('[STUB20] messages arrive both ways, text and bytes, in order', async () => {
    const [here, there] = [heardBy(mine), heardBy(theirs)];
    for (const word of ['a', 'b', 'c']) mine.send(word);
    theirs.send(new Uint8Array([1, 2]));
    theirs.send('last');
    await vi.waitUntil(() => here.length === 2 && there.length === 3);
    expect(there).toEqual(['a', 'b', 'c']);
    expect(here).toEqual([new Uint8Array([1, 2]).buffer, 'last']);
  });

  test('[STUB20] messages sent before it was accepted are not lost', async () => {
    mine.accept();
    mine.send('early');
    const there = heardBy(theirs);
    await vi.waitUntil(() => there.length === 1);
    expect(there).toEqual(['early']);
  });

  test('[STUB20] a close arrives with code and reason, is answered, and frees the reference', async () => {
    const [here, there] = [heardBy(mine), heardBy(theirs)];
    theirs.close(4001, 'enough');
    const goodbye = { code: 4001, reason: 'enough', wasClean: true };
    await vi.waitUntil(() => here.length === 1 && there.length === 1);
    expect([here, there]).toEqual([[goodbye], [goodbye]]);
    await vi.waitUntil(() => near.size === 0);
    expect([mine.readyState, theirs.readyState]).toEqual([3, 3]);
  });

  test('[STUB20] a lost connection closes it on its own side as unclean', async () => {
    const here = heardBy(mine);
    near.end(new Error('gone'));
    await vi.waitUntil(() => here.length === 1);
    expect(here).toEqual([{ code: 1006, reason: '', wasClean: false }]);
  });

  test('[STUB20] an accepted socket cannot be passed', () => {
    const pair = new WebSocketPair();
    pair[1].accept();
    const response = new Response();
    Object.defineProperty(response, 'webSocket', { value: pair[1] });
    expect(() => near.send(near.draft(response, party))).toThrow('after calling accept()');
  });
});
