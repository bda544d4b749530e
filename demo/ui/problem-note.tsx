// A problem in place: what failed, with code and message, and the way out where there is one.

import type { ComponentChildren } from 'preact';
import type { Problem } from './problem.ts';

export interface ProblemNoteProps {
  readonly title: string;
  readonly problem: Problem;
  /** Buttons. */
  readonly children?: ComponentChildren;
}

export function ProblemNote({ title, problem, children }: ProblemNoteProps) {
  return (
    <div class="problem" role="alert">
      <p class="problem-title">{title}</p>
      <p>
        <code class="problem-code">{problem.code}</code> {problem.message}
      </p>
      {children !== undefined && <div class="actions">{children}</div>}
    </div>
  );
}
