// A page whose worker notes its questions for free space (noted-questions.ts).

import { connect } from '../../../src/index.ts';
import type { Room } from './asking-worker.ts';

declare global {
  interface Window {
    asking: typeof asking;
  }
}

const asking = {
  questions: [] as string[],
  async add(number: number): Promise<number> {
    const address = new URL('./objects-worker.js', import.meta.url);
    const start = () => new Worker(address, { type: 'module' });
    return (await connect<{ Room: Room }>(start)).env.Room.getByName('a').add(number);
  },
};

new BroadcastChannel('questions').addEventListener('message', ({ data }) => {
  asking.questions.push(data);
});

window.asking = asking;
