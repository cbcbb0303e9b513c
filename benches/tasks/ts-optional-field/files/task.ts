export interface Person {
  name: string;
}

export interface Task {
  title: string;
  done: boolean;
  owner?: Person;
}

export function label(task: Task): string {
  const mark = task.done ? "[x]" : "[ ]";
  return `${mark} ${task.title}`;
}

export function open(tasks: Task[]): Task[] {
  return tasks.filter((task) => !task.done);
}
