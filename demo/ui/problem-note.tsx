// A problem, shown where it happened: the failed action, its code and message, and buttons for the
// ways out.

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
