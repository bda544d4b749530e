// Opens the document that a stranger's code runs in, and its worker there.
//
// Invariant: the frame has no origin (`sandbox` without `allow-same-origin`) and a policy without network, which its
// worker inherits. The page calls the worker and is called by nobody: it exposes no function, because one that is
// exposed leads to its constructor and prototype. What arrives is data of any shape, and becomes texts and numbers here.

import { wrap } from 'comlink';
import type { ConsoleEntry, ConsoleLevel } from '../../src/connect-source.ts';
import type { Answer, Calls, ObjectLine } from '../playground/calls.ts';
import type { SandboxApi, SandboxEvent } from './sandbox-worker.ts';

export interface Sandbox {
  readonly calls: Calls;
  load(files: Readonly<Record<string, string>>): Promise<string[]>;
  close(): void;
}

const LEVELS: readonly ConsoleLevel[] = ['debug', 'log', 'info', 'warn', 'error'];

export async function openSandbox(
  workerText: string,
  wasm: ArrayBuffer,
  onConsole: (entry: ConsoleEntry) => void,
): Promise<Sandbox> {
  const frame = document.createElement('iframe');
  frame.setAttribute('sandbox', 'allow-scripts');
  frame.title = 'Sandbox';
  frame.hidden = true;
  frame.src = new URL('sandbox.html', document.baseURI).href;
  const ready = new Promise<void>((resolve) => {
    frame.addEventListener('load', () => resolve(), { once: true });
  });
  document.body.append(frame);
  await ready;
  const [asked, told] = [new MessageChannel(), new MessageChannel()];
  // The frame has no origin that could be named.
  const ports = [asked.port2, told.port2];
  frame.contentWindow!.postMessage({ workerText, wasm }, '*', ports);
  const api = wrap<SandboxApi>(asked.port1);
  let hear: (line: string) => void = () => {};
  told.port1.onmessage = ({ data }: MessageEvent<Partial<SandboxEvent> | null>) => {
    if (data?.type === 'socket') hear(String(data.line));
    if (data?.type === 'console') onConsole(entryOf(data.entry));
  };
  const calls: Calls = {
    call: async (...given) => answerOf(await api.call(...given)),
    fetch: async (...given) => answerOf(await api.fetch(...given)),
    async openSocket(target, url, listener) {
      hear = listener;
      return answerOf(await api.openSocket(target, url));
    },
    send: async (text) => void (await api.send(text)),
    objects: async (classNames) => Array.from(await api.objects(classNames), lineOf),
    now: async () => timeOf(await api.now()) ?? Date.now(),
    advance: async (durationMs) => void (await api.advance(durationMs)),
    async runNextAlarm() {
      const ran = await api.runNextAlarm();
      return ran === null ? null : { className: String(ran.className), name: String(ran.name) };
    },
    resume: async () => void (await api.resume()),
  };
  return {
    calls,
    load: async (files) => Array.from(await api.load(files), String),
    close() {
      frame.remove();
      asked.port1.close();
      told.port1.close();
    },
  };
}

function entryOf(entry: Partial<ConsoleEntry> | undefined): ConsoleEntry {
  const level = LEVELS.find((one) => one === entry?.level) ?? 'log';
  return { level, text: String(entry?.text).slice(0, 4000), timeMs: Number(entry?.timeMs) };
}

function answerOf(answer: Answer): Answer {
  if (answer?.kind === 'value') {
    return { kind: 'value', text: String(answer.text), type: String(answer.type) };
  }
  const { code, message, stack } = answer?.failure ?? {};
  const failure = { code: String(code), message: String(message), stack: String(stack) };
  return { kind: 'failed', failure };
}

/** Null: it is not a time. */
function timeOf(value: unknown): number | null {
  return typeof value === 'number' && !Number.isNaN(new Date(value).getTime()) ? value : null;
}

function lineOf({ className, name, sizeBytes, nextAlarm }: ObjectLine): ObjectLine {
  return {
    className: String(className),
    name: String(name),
    sizeBytes: Number(sizeBytes),
    nextAlarm: timeOf(nextAlarm),
  };
}
