// WebKitGTK, driven through its own WebDriver, for which Playwright has no driver.
//
// It is the one browser here without synchronous access handles. It says nothing of Safari, which has them.
// Found when its packages are installed; fetched only when WEBKITGTK=1 asks for it (Debian and Ubuntu, as root).

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installPackage } from './browser.ts';
import type { Tab, TabBrowser } from './tabs.ts';

const PACKAGES = ['webkit2gtk-driver', 'gir1.2-webkit2-4.1', 'python3-gi', 'xvfb'];
const PYTHON = '/usr/bin/python3';
const BROWSER = join(import.meta.dirname, 'webkit-browser.py');
const START_MS_MAX = 120_000;
const SCRIPT_MS_MAX = 200_000;
const RETRY_MS = 100;
/** A browser whose script hangs does not end when it is asked to. */
const END_MS_MAX = 5000;

/** The version of the installed WebKitGTK; null if a part of it is missing. */
export function findWebKit(): string | null {
  const isThere = (command: string) => spawnSync(command, ['-help']).error === undefined;
  if (!isThere('Xvfb') || !isThere('WebKitWebDriver')) return null;
  const script =
    "import gi; gi.require_version('Gtk', '3.0'); gi.require_version('WebKit2', '4.1'); " +
    'from gi.repository import WebKit2 as w; ' +
    "print(f'{w.get_major_version()}.{w.get_minor_version()}.{w.get_micro_version()}')";
  const { status, stdout } = spawnSync(PYTHON, ['-c', script], { encoding: 'utf8' });
  return status === 0 ? `WebKitGTK ${stdout.trim()}` : null;
}

/** WebKitGTK when it is installed or, with WEBKITGTK=1, could be; null otherwise. */
export function getWebKit(): string | null {
  const installed = findWebKit();
  if (installed !== null || process.env.WEBKITGTK !== '1') return installed;
  const packaged = installPackage(...PACKAGES) ? findWebKit() : null;
  if (packaged !== null) return packaged;
  throw new Error(
    `WEBKITGTK=1, but WebKitGTK could not be found or installed. Install ${PACKAGES.join(', ')}.`,
  );
}

/** The version of WebKitGTK, fetched on request. @throws Error with the way out */
export function requireWebKit(): string {
  const found = getWebKit();
  if (found !== null) return found;
  throw new Error(
    `WebKitGTK is not installed; install ${PACKAGES.join(', ')}, or set WEBKITGTK=1 to have them installed.`,
  );
}

interface Session {
  readonly id: string;
  readonly address: string;
  readonly processes: readonly ChildProcess[];
}

export class WebKitBrowser implements TabBrowser {
  readonly #directory = mkdtempSync(join(tmpdir(), 'ctx-storage-webkitgtk-'));
  #session: Session | null = null;
  #tabCount = 0;
  /** Commands run one after the other: each may switch to another tab first. */
  #last: Promise<unknown> = Promise.resolve();

  async openTab(address: string): Promise<Tab> {
    const isFirst = this.#session === null;
    this.#session ??= await start(this.#directory);
    const window = isFirst
      ? await this.#command<string>('GET', 'window')
      : (await this.#command<{ handle: string }>('POST', 'window/new', { type: 'tab' })).handle;
    const inTab = <T>(method: string, path: string, body?: object) =>
      this.#command<T>(method, path, body, window);
    this.#tabCount += 1;
    await inTab('POST', 'url', { url: address });
    return {
      evaluate: (run, argument) => evaluate(inTab, run, argument),
      reload: () => inTab('POST', 'refresh', {}),
      close: async () => {
        // The session ends with its last tab; and a script that hangs there would keep others from running.
        if (this.#tabCount === 1) return await this.restart();
        this.#tabCount -= 1;
        await inTab('DELETE', 'window');
      },
    };
  }

  async restart(): Promise<void> {
    const session = this.#session;
    this.#session = null;
    this.#tabCount = 0;
    this.#last = Promise.resolve();
    if (session === null) return;
    const isEnded = send(session, 'DELETE', '').catch(() => {});
    await Promise.race([isEnded, new Promise((resolve) => setTimeout(resolve, END_MS_MAX))]);
    for (const process of session.processes) await end(process);
  }

  async remove(): Promise<void> {
    await this.restart();
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  #command<T>(method: string, path: string, body?: object, window?: string): Promise<T> {
    const session = this.#session!;
    const result = this.#last.then(async () => {
      if (window !== undefined) await send(session, 'POST', 'window', { handle: window });
      return (await send(session, method, path, body)) as T;
    });
    this.#last = result.catch(() => {});
    return result;
  }
}

async function start(directory: string): Promise<Session> {
  const screen = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '1024x768x24'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  const display = await new Promise<string>((resolve, reject) => {
    screen.on('error', reject);
    screen.on('exit', () => reject(new Error('Xvfb ended before it had a display.')));
    screen.stdio[3]!.once('data', (text) => resolve(String(text).trim()));
  });
  const port = await freePort();
  const driver = spawn('WebKitWebDriver', [`--port=${port}`, '--host=127.0.0.1'], {
    stdio: 'ignore',
    env: {
      ...process.env,
      DISPLAY: `:${display}`,
      HOME: directory,
      XDG_DATA_HOME: `${directory}/home`,
      XDG_CACHE_HOME: `${directory}/home`,
      XDG_RUNTIME_DIR: directory,
      // There is no graphics card, no desktop, and nobody who reads the screen.
      WEBKIT_DISABLE_COMPOSITING_MODE: '1',
      WEBKIT_DISABLE_DMABUF_RENDERER: '1',
      LIBGL_ALWAYS_SOFTWARE: '1',
      NO_AT_BRIDGE: '1',
      GIO_USE_VFS: 'local',
    },
  });
  const address = `http://127.0.0.1:${port}/session`;
  const processes = [driver, screen];
  const options = { binary: PYTHON, args: [BROWSER, `${directory}/profile`] };
  const capabilities = { alwaysMatch: { 'webkitgtk:browserOptions': options } };
  try {
    const { sessionId } = await whenReady(() => request(address, 'POST', { capabilities }));
    const session = { id: sessionId, address, processes };
    await send(session, 'POST', 'timeouts', { script: SCRIPT_MS_MAX, pageLoad: SCRIPT_MS_MAX });
    return session;
  } catch (error) {
    for (const process of processes) await end(process);
    throw error;
  }
}

async function whenReady(connect: () => Promise<unknown>): Promise<{ readonly sessionId: string }> {
  for (const deadlineMs = Date.now() + START_MS_MAX; ; ) {
    try {
      return (await connect()) as { readonly sessionId: string };
    } catch (error) {
      // The driver does not listen yet.
      if (!(error instanceof TypeError) || Date.now() > deadlineMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

async function evaluate<Result, Argument>(
  inTab: (method: string, path: string, body: object) => Promise<unknown>,
  run: (argument: Argument) => Result | Promise<Result>,
  argument: Argument,
): Promise<Result> {
  const script = `
    const [argument, done] = arguments;
    Promise.resolve(argument).then(${String(run)}).then(
      // As text, because the driver changes the order of members.
      (value) => done({ text: JSON.stringify(value) }),
      (error) => done({ error: String(error) + '\\n' + error?.stack }),
    );`;
  const body = { script, args: [argument ?? null] };
  const outcome = (await inTab('POST', 'execute/async', body)) as {
    readonly text?: string;
    readonly error?: string;
  };
  if (outcome.error !== undefined) throw new Error(outcome.error);
  return (outcome.text === undefined ? undefined : JSON.parse(outcome.text)) as Result;
}

function send(session: Session, method: string, path: string, body?: object): Promise<unknown> {
  const { address, id } = session;
  return request(path === '' ? `${address}/${id}` : `${address}/${id}/${path}`, method, body);
}

async function request(address: string, method: string, body?: object): Promise<unknown> {
  const response = await fetch(address, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const { value } = (await response.json()) as { value: unknown };
  const { error, message } = (value ?? {}) as { error?: string; message?: string };
  if (response.ok) return value;
  throw new Error(`WebKitGTK, ${method} ${address}: ${error}: ${message}`);
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

function end(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve();
    child.once('exit', () => resolve());
    child.kill();
  });
}
