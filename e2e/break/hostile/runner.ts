// Runs cases of a surface in a process of its own, and ends that process when one takes too long.

import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { CaseResult } from './case-process.ts';
import type { SurfaceName } from './surface.ts';

/** Longest a case may take on a busy machine; the slowest takes about a second. */
const CASE_MS_MAX = 240_000;

/** A case that failed. */
export interface Failure {
  readonly seed: number;
  readonly fault: string;
}

export async function runCases(
  surface: SurfaceName,
  first: number,
  count: number,
  onFailure: (failure: Failure) => void = () => {},
  onFigures: (figures: string) => void = () => {},
): Promise<Failure[]> {
  const failures: Failure[] = [];
  let child: CaseProcess | undefined;
  try {
    for (let seed = first; seed < first + count; seed++) {
      child ??= await CaseProcess.start(surface);
      const fault = await child.attack(seed);
      if (fault !== undefined) {
        failures.push({ seed, fault });
        onFailure({ seed, fault });
      }
      if (!child.isAlive) child = undefined;
    }
    if (child?.figures !== undefined) onFigures(child.figures);
  } finally {
    child?.end();
  }
  return failures;
}

class CaseProcess {
  readonly #child: ChildProcess;
  #settle: ((result: CaseResult) => void) | undefined;
  isAlive = true;
  /** What the surface has told last. */
  figures: string | undefined;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (result) => {
      this.figures = (result as CaseResult).figures;
      this.#settle?.(result as CaseResult);
    });
    child.on('exit', (code, signal) => {
      this.isAlive = false;
      this.#settle?.({ seed: -1, fault: `its process ended (${signal ?? code})` });
    });
  }

  static async start(surface: SurfaceName): Promise<CaseProcess> {
    const started = new CaseProcess(
      fork(join(import.meta.dirname, 'case-process.ts'), [surface], {
        execArgv: ['--import', 'tsx', '--expose-gc'],
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      }),
    );
    const fault = await started.#next();
    if (fault !== undefined) throw new Error(`hostile: ${surface} did not start: ${fault}`);
    return started;
  }

  attack(seed: number): Promise<string | undefined> {
    const answer = this.#next();
    this.#child.send({ seed });
    return answer;
  }

  end(): void {
    this.isAlive = false;
    this.#child.kill('SIGKILL');
  }

  #next(): Promise<string | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.end();
        resolve(`it did not end within ${CASE_MS_MAX / 1000} s`);
      }, CASE_MS_MAX);
      this.#settle = ({ fault }) => {
        clearTimeout(timer);
        resolve(fault);
      };
    });
  }
}
