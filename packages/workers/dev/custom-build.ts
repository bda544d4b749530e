// Runs the project's own build command, `build.command`: before the worker is bundled, and after each change of the
// watched folders.
//
// Invariant: one build runs at a time. A change during a build starts another one after it. A failed build is printed,
// and does not end the server.

import { spawn } from 'node:child_process';
import { existsSync, watch as watchFolder } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import type { ProjectBuild } from '@ctx-storage/vite/project';

/**
 * The variables of this machine, which builds get. They are copied because `dev` replaces `process.env` for the worker.
 */
const MACHINE_ENV = { ...process.env };

/** How long the folders must be unchanged before a build starts, because editors write a file in several steps. */
const SETTLE_MS = 50;

export class CustomBuild {
  readonly #build: ProjectBuild;
  readonly #project: string;
  readonly #print: (line: string) => void;
  #running: Promise<void> = Promise.resolve();

  /** `project` is the folder of the wrangler file. */
  constructor(build: ProjectBuild, project: string, print: (line: string) => void) {
    this.#build = build;
    this.#project = project;
    this.#print = print;
  }

  /** Runs the build command once, after a run that has begun before. @throws Error with its output if it fails */
  run(): Promise<void> {
    const { command, folder } = this.#build;
    this.#running = this.#running
      .catch(() => {})
      .then(() => runShell(command, resolve(this.#project, folder), this.#project));
    return this.#running;
  }

  /**
   * Runs the command after each change, until the returned function is called. It prints the watched folders that are
   * missing.
   */
  watch(): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const changed = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        this.run().catch((error: Error) => this.#print(`${error.message}\n`));
      }, SETTLE_MS);
    };
    const watchers = this.#build.watched.flatMap((name) => {
      const folder = resolve(this.#project, name);
      if (existsSync(folder)) return watchFolder(folder, { recursive: true }, changed);
      this.#print(`build.watch_dir ${name} is missing: no change there runs the build.\n`);
      return [];
    });
    return () => {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    };
  }
}

/** Runs a command in a shell that finds the programs of the project's packages, as a script of npm does. */
function runShell(command: string, folder: string, project: string): Promise<void> {
  const path = [join(project, 'node_modules/.bin'), MACHINE_ENV.PATH].join(delimiter);
  return new Promise((done, failed) => {
    const child = spawn(command, { cwd: folder, shell: true, env: { ...MACHINE_ENV, PATH: path } });
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
