// The project's own build: it runs before the worker is bundled, and again after each change of the watched folders.
//
// Invariant: one runs at a time, and a change during it is followed by another. A failure is told, and does not end the
// server.

import { spawn } from 'node:child_process';
import { existsSync, watch } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import type { ProjectBuild } from '@ctx-storage/vite/project';

/** Of this machine: the code that `dev` runs sees other variables. */
const ENV = { ...process.env };

/** Editors write a file in several steps. */
const SETTLE_MS = 50;

export class CustomBuild {
  readonly #build: ProjectBuild;
  readonly #project: string;
  readonly #print: (line: string) => void;
  #running: Promise<void> = Promise.resolve();

  /** `project`: the folder of the wrangler file. */
  constructor(build: ProjectBuild, project: string, print: (line: string) => void) {
    this.#build = build;
    this.#project = project;
    this.#print = print;
  }

  /** Runs the command once. @throws Error with its output, if it fails */
  run(): Promise<void> {
    const { command, folder } = this.#build;
    this.#running = this.#running
      .catch(() => {})
      .then(() => runShell(command, resolve(this.#project, folder), this.#project));
    return this.#running;
  }

  /** Runs it after each change; the result ends that. A folder that is missing is told. */
  follow(): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const changed = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        this.run().catch((error: Error) => this.#print(`${error.message}\n`));
      }, SETTLE_MS);
    };
    const watchers = this.#build.watched.flatMap((name) => {
      const folder = resolve(this.#project, name);
      if (existsSync(folder)) return watch(folder, { recursive: true }, changed);
      this.#print(`build.watch_dir ${name} is missing: no change there runs the build.\n`);
      return [];
    });
    return () => {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    };
  }
}

/** Programs of the project's packages are found, as in a script of npm. */
function runShell(command: string, folder: string, project: string): Promise<void> {
  const path = [join(project, 'node_modules/.bin'), ENV.PATH].join(delimiter);
  return new Promise((done, failed) => {
    const child = spawn(command, { cwd: folder, shell: true, env: { ...ENV, PATH: path } });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.once('error', failed);
    child.once('close', (code) => {
      if (code === 0) done();
      else failed(new Error(`The build "${command}" has failed (${code}):\n${output.trim()}`));
    });
  });
}
