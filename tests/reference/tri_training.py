"""Tri-training as published by Zhou and Li (2005), with lists: what each classifier learns from in each round."""

import math


def lessons_of_rounds(make_model, X, codes, bootstraps, draw):
    """For each round, {classifier: {row: class}}; `draw(rows, size)` draws a part of the rows.

    Also the number of times that a part was drawn.
    """
    known = [i for i, c in enumerate(codes) if c >= 0]
    free = [i for i, c in enumerate(codes) if c < 0]

    def fit(rows, classes):
        return make_model().fit(X[rows], classes)

    def predict(model, i):
        return int(model.predict(X[[i]])[0])

    models = [fit(rows, codes[rows]) for rows in bootstraps]
    last_error, last_size, history, n_drawn = [0.5] * 3, [0] * 3, [], 0
    while True:
        lessons = {}
        for i in range(3):
            j, k = (m for m in range(3) if m != i)
            agree = [r for r in known if predict(models[j], r) == predict(models[k], r)]
            wrong = [r for r in agree if predict(models[j], r) != codes[r]]
            error = len(wrong) / len(agree) if agree else 0.5
            if error >= last_error[i]:
                continue
            lesson = {r: predict(models[j], r) for r in free if predict(models[j], r) == predict(models[k], r)}
            if last_size[i] == 0:
                last_size[i] = math.floor(error / (last_error[i] - error) + 1)
            if last_size[i] >= len(lesson):
                continue
            if error * len(lesson) >= last_error[i] * last_size[i]:
                if last_size[i] <= error / (last_error[i] - error):
                    continue
                size = math.ceil(last_error[i] * last_size[i] / error - 1)
                lesson = {r: lesson[r] for r in draw(list(lesson), size)}
                n_drawn += 1
            lessons[i] = (error, lesson)
        if not lessons:
            return history, n_drawn
        for i, (error, lesson) in lessons.items():
            rows = sorted(known + list(lesson))
            models[i] = fit(rows, [lesson.get(r, codes[r]) for r in rows])
            last_error[i], last_size[i] = error, len(lesson)
        history.append({i: lesson for i, (_, lesson) in lessons.items()})
