// An undo stack whose state the test sets.

const NOTHING = { canUndo: false, canRedo: false, undoLabel: null, redoLabel: null };

export class FakeStack extends EventTarget {
  state = { ...NOTHING, conflict: null, error: null };
  readonly calls: string[] = [];
  become(change: object): void {
    this.state = { ...this.state, ...change };
    this.dispatchEvent(new Event('change'));
  }
  async undo() {
    this.calls.push('undo');
    return true;
  }
  async redo() {
    this.calls.push('redo');
    return true;
  }
  skip() {
    this.calls.push('skip');
    return true;
  }
}
