"""Twenty prompts of many kinds, so that golden data exercises more than English prose."""

TEXTS = (
    "The capital of France is",
    "Vilfredo Pareto observed that about eighty percent of the land in Italy was owned by",
    "Once upon a time, in a village by the sea, there lived an old clockmaker who",
    "Water boils at 100 degrees Celsius at sea level. At the top of Mount Everest, it boils at",
    "The three laws of motion were first stated by Isaac Newton in 1687. The first law says that",
    "To be, or not to be, that is the question:",
    "1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89,",
    "def fibonacci(n):\n    if n < 2:\n        return n\n    return",
    "import numpy as np\n\n\ndef softmax(x):\n    ",
    '#include <stdio.h>\n\nint main(void) {\n    printf("Hello, ',
    "SELECT customers.name, COUNT(orders.id) AS total\nFROM customers\nLEFT JOIN orders ON",
    '{"name": "Ada Lovelace", "born": 1815, "occupation": "mathematician", "known_for": ["',
    "La vie est belle, mais elle est parfois",
    "日本の首都は東京です。フランスの首都は",
    "Привет! Меня зовут Анна, и я живу в",
    "🙂 means happy, 😢 means sad, and 🎉 means",
)

QUESTIONS = (
    "What is the difference between a list and a tuple in Python?",
    "Write a haiku about the sea.",
    "Warum ist der Himmel blau? Antworte in einem Satz.",
)


# Longer than any sliding window among the catalog's models (512 tokens).
LONG = (
    "Timetable of the northern line.\n"
    + "".join(
        f"Train {n * 7} leaves platform {n % 9 + 1} at {6 + n // 4:02}:{n * 15 % 60:02}.\n"
        for n in range(1, 41)
    )
    + "According to the timetable, train 7 leaves platform"
)
